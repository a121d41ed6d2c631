"""Whatever bytes come in: a typed error or an answer, never anything else.

Hypothesis prints the example that fails; `@reproduce_failure`, which it suggests, replays it.
"""

import struct
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_core.records.batch import (
    BatchHeader,
    CorruptBatch,
    check_batch,
    check_produced_batch,
    crc_of,
    parse_header,
    split_batches,
)
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression, compress
from barnabas_core.records.control import end_transaction_batch, end_transaction_in
from barnabas_core.records.record import iter_records
from barnabas_core.records.record_scan import check_records, iter_keys
from tests.support.record_samples import TIME_MS, sample_records

MAX_BYTES = 1_000_000
MANY = settings(max_examples=max(500, settings().max_examples))
# Small ones, in which a change hits something.
RECORDS = sample_records(0)[:5]
SMALL = [bytes(build_batch(RECORDS, compression=codec)) for codec in Compression]
SMALL += [bytes(end_transaction_batch(True, 1, 2, 3, TIME_MS))]


def look_at(data: bytes) -> None:
    """All that the broker, the cleaner and recovery do with bytes from outside."""
    try:
        batches = split_batches(data)
    except CorruptBatch:
        batches = []
    assert sum(header.size_bytes for _, header in batches) in (0, len(data))
    for position, _ in batches:
        look_into(data, position)


def look_into(data: bytes, position: int) -> None:
    header = parse_header(data, position)
    with suppress(CorruptBatch):
        check_batch(data, position, header)
    with suppress(CorruptBatch):
        check_produced_batch(header)
    with suppress(CorruptBatch):
        list(iter_keys(data, position, max_bytes=MAX_BYTES))
    with suppress(CorruptBatch):
        end_transaction_in(data, position, header)
    assert passes_check(data, position, header) == has_dense_offsets(data, position, header)


def passes_check(data: bytes, position: int, header: BatchHeader) -> bool:
    try:
        check_records(data, position, header, max_bytes=MAX_BYTES)
    except CorruptBatch:
        return False
    return True


def has_dense_offsets(data: bytes, position: int, header: BatchHeader) -> bool:
    """The same verdict, from the other reader. It wants deltas up to the header's last one."""
    header = header._replace(last_offset_delta=2**31 - 1)
    try:
        records = list(iter_records(data, position, header=header, max_bytes=MAX_BYTES))
    except CorruptBatch:
        return False
    return all(record.offset == header.base_offset + n for n, record in enumerate(records))


@st.composite
def mutations(draw: st.DrawFn, data: bytes) -> bytes:
    """A few bytes changed, cut out or put in."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(changed)))
        end = start + draw(st.integers(0, 8))
        changed[start:end] = draw(st.binary(max_size=8))
    return bytes(changed)


def sealed(data: bytes) -> bytes:
    """With the length and the CRC that a careful attacker puts in."""
    if len(data) < 61:
        return data
    batch = bytearray(data)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    batch[16] = 2
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, len(batch) - 12))
    return bytes(batch)


@MANY
@given(st.binary(max_size=300))
def test_rubbish(data: bytes) -> None:
    look_at(data)
    look_at(sealed(data))


@MANY
@given(st.data())
def test_sound_batches_that_were_changed(data: st.DataObject) -> None:
    changed = data.draw(mutations(data.draw(st.sampled_from(SMALL))))

    look_at(changed)
    look_at(sealed(changed))
    look_at(sealed(changed) + changed)


@MANY
@given(st.data(), st.sampled_from(Compression))
def test_changed_records_compressed_well(data: st.DataObject, codec: Compression) -> None:
    """The rubbish is inside, where only a reader that decompresses meets it."""
    batch = SMALL[0]
    records = data.draw(mutations(batch[61:]))
    attributes = struct.pack(">h", codec)

    look_at(sealed(batch[:21] + attributes + batch[23:61] + compress(codec, records)))


@MANY
@given(st.binary(max_size=200), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_rubbish_for_records_under_any_count(data: bytes, count: int, last_delta: int) -> None:
    header = bytearray(SMALL[0][:61])
    struct.pack_into(">h", header, 21, 0)
    struct.pack_into(">i", header, 23, last_delta)
    struct.pack_into(">i", header, 57, count)

    look_at(sealed(bytes(header) + data))
