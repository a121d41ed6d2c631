"""Arrow batches let through at a steady rate.

Batches are cut into pieces of a tenth of a second. Who falls behind may catch up, but never by more
than a second's worth: a pause at the other end must not become a flood.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa

_PIECES_PER_SECOND: Final = 10
_CATCH_UP_SECONDS: Final = 1.0


def paced(
    batches: Iterable[pa.RecordBatch],
    rows_per_second: float,
    now: Callable[[], float],
    sleep: Callable[[float], object],
) -> Iterator[pa.RecordBatch]:
    piece_rows = max(1, int(rows_per_second / _PIECES_PER_SECOND))
    due_at = now()
    for batch in batches:
        for start in range(0, batch.num_rows, piece_rows):
            piece = batch.slice(start, piece_rows)
            wait_seconds = due_at - now()
            if wait_seconds > 0:
                sleep(wait_seconds)
            yield piece
            due_at = max(due_at, now() - _CATCH_UP_SECONDS) + piece.num_rows / rows_per_second
