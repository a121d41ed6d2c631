"""Batches of ours of every kind, for readers that are not ours to judge."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import Header, Record

TIME_MS = 1_700_000_000_000
PRODUCER_ID = 4711
LEVELS: dict[Compression, tuple[int | None, ...]] = {
    Compression.NONE: (None,),
    Compression.GZIP: (None, 1, 9),
    Compression.SNAPPY: (None,),
    Compression.LZ4: (None, 1, 12, 17),
    Compression.ZSTD: (None, -131072, 1, 22),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A batch and what a reader must find in it; a control batch shows no records to clients."""

    name: str
    batch: bytearray
    records: tuple[Record, ...]
    is_control: bool = False


def sample_batches(base_offset: int = 0) -> Iterator[Sample]:
    """One after the other as in a partition's log, the first at `base_offset`."""
    for is_transactional in (False, True):
        records = sample_records(base_offset)[:5]
        batch = producer_batch(records, is_transactional=is_transactional)
        yield Sample("transactional" if is_transactional else "idempotent", batch, records)
        base_offset += len(records)
    marker = end_transaction_batch(True, 3, PRODUCER_ID, 2, TIME_MS, base_offset)
    yield Sample("commit", marker, (), is_control=True)
    base_offset += 1
    for codec, levels in LEVELS.items():
        for level in levels:
            records = sample_records(base_offset)
            batch = build_batch(records, base_offset=base_offset, compression=codec, level=level)
            name = codec.name.lower() if level is None else f"{codec.name.lower()} level {level}"
            yield Sample(name, batch, records)
            base_offset += len(records)


def producer_batch(
    records: tuple[Record, ...],
    *,
    is_transactional: bool = False,
    base_sequence: int = 0,
) -> bytearray:
    return build_batch(
        records,
        base_offset=records[0].offset,
        producer_id=PRODUCER_ID,
        producer_epoch=2,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )


def sample_records(base_offset: int) -> tuple[Record, ...]:
    """Nulls, empty ones, headers, text and noise, small and beyond the block of every codec."""
    random = Random(base_offset)
    bodies: list[tuple[bytes | None, bytes | None, tuple[Header, ...]]] = [
        (None, b"no key", ()),
        (b"no value", None, ()),
        (b"", b"", ()),
        (b"headers", b"v", (Header(b"a", b"1"), Header(b"a", b""), Header(b"b", None))),
        ("schlüssel".encode(), "wert ✓".encode(), (Header("kopf-ü".encode(), b"\x00\xff"),)),
        (b"k" * 200, b"big text " * 20_000, ()),
        (b"noise", random.randbytes(150_000), ()),
    ]
    bodies += [(b"key-%d" % (n % 7), b"value %d" % n, ()) for n in range(200)]
    return tuple(
        Record(base_offset + n, TIME_MS + 3 * n, key, value, headers)
        for n, (key, value, headers) in enumerate(bodies)
    )


def plain_record(record: Record) -> Record:
    """The record with bytes where it has views, to compare."""
    headers = tuple(Header(key, plain_bytes(value)) for key, value in record.headers)
    key, value = plain_bytes(record.key), plain_bytes(record.value)
    return record._replace(key=key, value=value, headers=headers)


def plain_bytes(data: Buffer | None) -> bytes | None:
    return None if data is None else bytes(data)
