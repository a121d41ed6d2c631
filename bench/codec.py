"""Encode and decode, side by side with kio in one run; what the codec adds to a process's start.

usage: codec.py [--page docs/benchmarks.md]

Before anything is timed, both codecs must agree: kio reads our bytes and writes them again, bit
for bit. A time is the best of several rounds, with the two codecs taking turns.
"""

import argparse
import importlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer

from barnabas_core.wire.catalog import module_name
from barnabas_core.wire.codec import decode, decoder, encode
from bench.codec_case import Case, cases
from bench.report import replace_section

ROUNDS = 25
ROUND_SECONDS = 0.01
START_RUNS = 15
START_BUDGET_MS = 60
WRITER_GOAL = 3.0
READER_GOAL = 3.0


class Timing(NamedTuple):
    """Microseconds per message."""

    label: str
    size_bytes: int
    encode_us: float
    kio_encode_us: float
    decode_us: float
    kio_decode_us: float

    @property
    def encode_gain(self) -> float:
        return self.kio_encode_us / self.encode_us

    @property
    def decode_gain(self) -> float:
        return self.kio_decode_us / self.decode_us


def kio_class(case: Case) -> Any:  # noqa: ANN401
    name = type(case.message).__name__
    kind = case.message.KIND
    api = module_name(name.removesuffix(kind.capitalize()))
    return getattr(importlib.import_module(f"kio.schema.{api}.v{case.version}.{kind}"), name)


def measure(case: Case) -> Timing:
    message, version = case.message, case.version
    kind = type(message)
    data = encode(message, version)
    theirs = kio_class(case)
    read, write = entity_reader(theirs), entity_writer(theirs)
    entity, _ = read(data, 0)

    def kio_encode() -> bytes:
        with io.BytesIO() as buffer:
            write(buffer, entity)
            return buffer.getvalue()

    assert decode(kind, version, data) == message, case.label
    assert kio_encode() == data, case.label
    read_ours = decoder(kind, version)
    times = best(
        lambda: encode(message, version),
        kio_encode,
        lambda: read_ours(data, 0),
        lambda: read(data, 0),
    )
    return Timing(case.label, len(data), *times)


def best(*calls: Callable[[], object]) -> list[float]:
    """The best time of each in microseconds; they take turns, so a busy moment hits them all."""
    timers = [timeit.Timer(call) for call in calls]
    counts = [max(1, int(ROUND_SECONDS / (timer.timeit(20) / 20))) for timer in timers]
    rounds = [
        [timer.timeit(count) / count for timer, count in zip(timers, counts, strict=True)]
        for _ in range(ROUNDS)
    ]
    return [min(times) * 1e6 for times in zip(*rounds, strict=True)]


def table(timings: list[Timing]) -> str:
    columns = ["message", "bytes", "encode µs", "kio µs", "times as fast"]
    columns += ["decode µs", "kio native µs", "times as fast"]
    lines = [f"| {' | '.join(columns)} |", "|---" + "|--:" * 7 + "|"]
    lines += [
        f"| {t.label} | {t.size_bytes:,} | {t.encode_us:.2f} | {t.kio_encode_us:.2f} | "
        f"{t.encode_gain:.1f} | {t.decode_us:.2f} | {t.kio_decode_us:.2f} | {t.decode_gain:.2f} |"
        for t in timings
    ]
    return "\n".join(lines)


def verdict(timings: list[Timing]) -> str:
    slow_writes = [t.label for t in timings if t.encode_gain < WRITER_GOAL]
    slow_reads = [t.label for t in timings if t.decode_gain < 1 / READER_GOAL]
    missed = "; ".join(
        [f"encode: {label}" for label in slow_writes] + [f"decode: {label}" for label in slow_reads]
    )
    goals = "Goals: encode at least 3 times faster than kio, decode at least a third of its speed."
    return f"{goals} {'Missed: ' + missed if missed else 'All met'}."


# A broker has these loaded anyway, so they are not what the codec adds.
START = """
import asyncio, dataclasses, time
before = time.perf_counter()
import bench.codec_start
print((time.perf_counter() - before) * 1000)
"""


def start_ms() -> list[float]:
    """What a broker pays for the codec until its first client has its first records."""
    out = []
    with tempfile.TemporaryDirectory() as bytecode:
        # As installed: the modules' own bytecode is there, whatever this process may write.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(1 + START_RUNS):
            run = subprocess.run(
                [sys.executable, "-c", START], check=True, capture_output=True, env=environment
            )
            out.append(float(run.stdout))
    return sorted(out[1:])


def report() -> str:
    timings = [measure(case) for case in cases()]
    starts = start_ms()
    start = (
        f"Start: imports, and the compilation of the twelve codecs that a first client needs, take "
        f"{statistics.median(starts):.1f} ms (median of {START_RUNS} processes, best "
        f"{starts[0]:.1f}, worst {starts[-1]:.1f}; the budget is {START_BUDGET_MS} ms)."
    )
    return f"{table(timings)}\n\n{verdict(timings)}\n\n{start}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    text = report()
    print(text)
    if arguments.page:
        replace_section(arguments.page, "codec", text)


if __name__ == "__main__":
    main()
