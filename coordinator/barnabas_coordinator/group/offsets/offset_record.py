"""Records of offsets, and decisions that delete many of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from barnabas_coordinator.group.offsets.offset_store import OffsetStore
from barnabas_coordinator.shard.decision import Answer, Decision, Record
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey

BATCH_HEAD_BYTES: Final = 61
RECORD_BYTES_MAX: Final = 96
"""Of a commit besides group, topic and metadata: fields, lengths and what a batch adds."""
_TOMBSTONES_MAX: Final = 1_000


def commit_bytes_max(group: str, topic: str, metadata: str) -> int:
    return RECORD_BYTES_MAX + _utf8_bytes(group) + _utf8_bytes(topic) + _utf8_bytes(metadata)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def offset_tombstone(group: str, topic: str, partition: int) -> Record:
    return Record(OffsetCommitKey(group=group, topic=topic, partition=partition), None)


def offset_tombstones(offsets: OffsetStore, group: str) -> list[Record]:
    """Of all that a group has, pending ones too."""
    return [offset_tombstone(group, *at) for at in offsets.partitions(group)]


def deletion(
    touched: Sequence[str],
    records: Iterable[Record],
    answers: list[Answer],
    batch_bytes_max: int,
) -> list[Decision]:
    """As many decisions as it takes for each of them to fit into a batch; the last one answers."""
    decisions = [Decision(touched, part) for part in _parts(records, batch_bytes_max)]
    if answers and not decisions:
        decisions = [Decision(touched)]
    if decisions:
        decisions[-1].answers = answers
    return decisions


def _parts(records: Iterable[Record], batch_bytes_max: int) -> Iterator[list[Record]]:
    part: list[Record] = []
    part_bytes = BATCH_HEAD_BYTES
    for record in records:
        record_bytes = _tombstone_bytes_max(record)
        if part and (len(part) == _TOMBSTONES_MAX or part_bytes + record_bytes > batch_bytes_max):
            yield part
            part, part_bytes = [], BATCH_HEAD_BYTES
        part.append(record)
        part_bytes += record_bytes
    if part:
        yield part


def _tombstone_bytes_max(record: Record) -> int:
    """Of any kind: their keys are made of texts and small numbers."""
    texts = (getattr(record.key, field.name) for field in record.key.FIELDS)
    return RECORD_BYTES_MAX + sum(_utf8_bytes(text) for text in texts if isinstance(text, str))
