"""From batches to state: what recovery, truncation and a reopened log read out of segments."""

from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.producers.producer_state import CompletedTransaction, Control, ProducerState
from barnabas_core.log.segments.scan import ReadAt, scan_headers
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.control import end_transaction_in


def control_of(buffer: Buffer, position: int, header: BatchHeader) -> Control | None:
    """What a control batch says about a transaction; None for any other batch."""
    if not header.is_control or not header.record_count:
        return None
    marker = end_transaction_in(buffer, position, header)
    return None if marker is None else (marker.type, marker.coordinator_epoch)


def replay_batch(
    producers: ProducerState, buffer: Buffer, position: int, header: BatchHeader
) -> CompletedTransaction | None:
    if header.producer_id < 0:
        return None
    control = control_of(buffer, position, header)
    if header.is_control and control is None:
        return None
    return producers.replay(header, header.base_offset, control=control)


def replay_segment(
    producers: ProducerState, read_at: ReadAt, position: int, end: int, from_offset: int
) -> None:
    """Bring `producers` up to date with the batches from `from_offset` on."""
    for found in scan_headers(read_at, position, end):
        header = found.header
        if header.base_offset < from_offset or header.producer_id < 0:
            continue
        batch = read_at(found.position, header.size_bytes) if header.is_control else b""
        replay_batch(producers, batch, 0, header)


def aborted_of(completed: CompletedTransaction) -> AbortedTransaction:
    """The index entry of a transaction that was aborted."""
    producer_id, first_offset, last_offset, _, last_stable_offset = completed
    return AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset)
