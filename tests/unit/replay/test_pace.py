"""The rate of a replay, on a clock of the test's own."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from barnabas_pipeline.replay.pace import paced


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def batches(*sizes: int) -> Iterator[pa.RecordBatch]:
    start = 0
    for size in sizes:
        yield pa.RecordBatch.from_pydict({"n": list(range(start, start + size))})
        start += size


@pytest.mark.parametrize("rate", [3.0, 100.0, 12_345.0])
@pytest.mark.parametrize("sizes", [(1_000,), (1,) * 50, (7, 0, 500)])
def test_all_rows_come_in_order_and_never_too_early(rate: float, sizes: tuple[int, ...]) -> None:
    clock = Clock()
    rows: list[int] = []

    for piece in paced(batches(*sizes), rate, clock.now, clock.sleep):
        # The piece that is due now is sent at once: it is what comes after it that waits.
        assert len(rows) <= clock.seconds * rate + 1e-6
        rows += piece.column("n").to_pylist()

    assert rows == list(range(sum(sizes)))


def test_pieces_are_small_so_that_a_second_is_not_one_burst() -> None:
    clock = Clock()

    sizes = [piece.num_rows for piece in paced(batches(1_000), 200.0, clock.now, clock.sleep)]

    assert sizes == [20] * 50


def test_a_pause_at_the_other_end_does_not_become_a_flood() -> None:
    clock = Clock()
    pieces = paced(batches(10_000), 100.0, clock.now, clock.sleep)
    next(pieces)
    clock.seconds += 60

    at_once = 0
    for piece in pieces:
        if clock.seconds > 60:
            break
        at_once += piece.num_rows

    assert at_once <= 120
