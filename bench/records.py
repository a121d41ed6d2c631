"""Record batches: what one costs the broker, what a record costs a reader, what a codec does.

usage: records.py

Prints two tables. A time is the best of several rounds.
"""

import timeit
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random

from barnabas_core.records.batch import (
    check_batch,
    check_produced_batch,
    parse_header,
    patch_append_time,
    patch_offset,
    split_batches,
)
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression, compress, decompress
from barnabas_core.records.control import end_transaction_batch, end_transaction_in
from barnabas_core.records.record import Record, iter_records
from barnabas_core.records.record_scan import check_records, iter_keys

ROUNDS = 15
ROUND_SECONDS = 0.02
TIME_MS = 1_700_000_000_000
MEBIBYTE = 2**20
LEVELS: dict[Compression, tuple[int | None, ...]] = {
    Compression.GZIP: (None, 1),
    Compression.SNAPPY: (None,),
    Compression.LZ4: (None, 17),
    Compression.ZSTD: (None, 1, 19),
}


def best_seconds(act: Callable[[], object]) -> float:
    """Of one call."""
    act()
    once = timeit.timeit(act, number=1)
    number = max(1, int(ROUND_SECONDS / once))
    return min(timeit.repeat(act, number=number, repeat=ROUNDS)) / number


def drain(items: Iterable[object]) -> None:
    for _ in items:
        pass


def records(count: int, value_bytes: int) -> list[Record]:
    value = bytes(value_bytes)
    return [Record(n, TIME_MS + n // 3, b"key-%06d" % n, value) for n in range(count)]


def text(size: int) -> bytes:
    """Like log lines: words of a few thousand, so that it shrinks to about a third."""
    random = Random(1)
    words = [bytes(random.choices(b"etaoinshrdlu", k=random.randint(3, 9))) for _ in range(2000)]
    return b" ".join(random.choices(words, k=size // 6))[:size].ljust(size)


def accept(batch: bytearray) -> None:
    """What a leader does with each batch of a Produce request."""
    for position, header in split_batches(batch):
        check_batch(batch, position, header)
        check_produced_batch(header)
        patch_offset(batch, position, 0, -1)


def stamp(batch: bytearray) -> None:
    for position, header in split_batches(batch):
        patch_append_time(batch, position, header, TIME_MS)


def batch_rows() -> Iterator[str]:
    batches = {
        "1 KiB": build_batch(records(1, 950)),
        "64 KiB": build_batch(records(60, 1000)),
        "1 MiB": build_batch(records(1000, 1000)),
    }
    acts = {"split, check, patch the offset": accept, "split, patch the append time": stamp}
    for label, act in acts.items():
        for name, batch in batches.items():
            seconds = best_seconds(partial(act, batch))
            rate = len(batch) / seconds / 1e9
            yield f"| {label}, {name} | {seconds * 1e6:.2f} us | {rate:.1f} GB/s |"
    marker = end_transaction_batch(True, 1, 2, 3, TIME_MS)
    seconds = best_seconds(partial(end_transaction_in, marker, 0, parse_header(marker)))
    yield f"| read a transaction marker | {seconds * 1e6:.2f} us | |"


def read_all(batch: bytes) -> None:
    drain(iter_records(batch))


def read_keys(batch: bytes) -> None:
    drain(iter_keys(batch))


def check_keys(batch: bytes) -> None:
    check_records(batch, 0, parse_header(batch), keys_required=True)


def record_rows() -> Iterator[str]:
    count = 2000
    for value_bytes in (100, 1000):
        given = records(count, value_bytes)
        batch = bytes(build_batch(given))
        acts: dict[str, Callable[[], object]] = {
            "iterate over records": partial(read_all, batch),
            "iterate over keys": partial(read_keys, batch),
            "check records and keys": partial(check_keys, batch),
            "build a batch": partial(build_batch, given),
        }
        for label, act in acts.items():
            seconds = best_seconds(act) / count
            name = f"{label}, {value_bytes} B values"
            yield f"| {name} | {seconds * 1e9:.0f} ns a record | {1e-3 / seconds:.0f} k/s |"


def codec_rows() -> Iterator[str]:
    data = text(MEBIBYTE)
    for codec, levels in LEVELS.items():
        for level in levels:
            packed = compress(codec, data, level)
            there = best_seconds(partial(compress, codec, data, level))
            back = best_seconds(partial(decompress, codec, packed))
            name = codec.name.lower() if level is None else f"{codec.name.lower()}, level {level}"
            rates = f"{MEBIBYTE / there / 1e6:.0f} MB/s | {MEBIBYTE / back / 1e6:.0f} MB/s"
            yield f"| {name} | {len(packed) / MEBIBYTE:.2f} | {rates} |"


def main() -> None:
    print("| work | time | rate |\n|---|---|---|")
    for row in (*batch_rows(), *record_rows()):
        print(row, flush=True)
    print("\n| codec, 1 MiB of text | size | compress | decompress |\n|---|---|---|---|")
    for row in codec_rows():
        print(row, flush=True)


if __name__ == "__main__":
    main()
