"""Records on their way into the log: those of this turn, and the sizes of those not yet committed.

Batches are built with the offsets they will get: nothing else is appended before them.
"""

from collections import deque
from collections.abc import Sequence

from barnabas_core.ports import Buffer
from barnabas_core.records.builder import BatchBuilder


class BatchTooLarge(Exception):
    """Records that would not fit one batch of the metadata log; nothing was appended."""


class AppendBuffer:
    __slots__ = ("_batch_bytes_max", "_batches", "_sizes", "record_count")

    def __init__(self, batch_bytes_max: int) -> None:
        self._batch_bytes_max = batch_bytes_max
        self._batches: list[tuple[bytes, int]] = []
        self._sizes: deque[tuple[int, int]] = deque()
        self.record_count = 0
        """Of those that are not with the core yet."""

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, offset: int, epoch: int, batches: Sequence[Sequence[Buffer]], now_ms: int) -> int:
        """Take batches that start at `offset`; the offset after them."""
        built: list[tuple[bytes, int]] = []
        end_offset = offset
        for values in batches:
            built.append((self._build(end_offset, epoch, values, now_ms), len(values)))
            end_offset += len(values)
        self._batches += built
        self._sizes.append((end_offset, sum([len(data) for data, _ in built])))
        self.record_count += end_offset - offset
        return end_offset

    def _build(self, offset: int, epoch: int, values: Sequence[Buffer], now_ms: int) -> bytes:
        builder = BatchBuilder(base_offset=offset, leader_epoch=epoch)
        for value in values:
            builder.append(None, value, now_ms)
        if builder.size_bytes > self._batch_bytes_max:
            raise BatchTooLarge(f"{builder.size_bytes} bytes in a batch of {len(values)} records")
        return bytes(builder.build())

    def take(self) -> list[tuple[bytes, int]]:
        """What was added since the last call, as (batch, record count)."""
        batches, self._batches = self._batches, []
        self.record_count = 0
        return batches

    def on_committed(self, end_offset: int) -> int:
        """How many bytes of what was added are committed now and were not before."""
        size_bytes = 0
        while self._sizes and self._sizes[0][0] <= end_offset:
            size_bytes += self._sizes.popleft()[1]
        return size_bytes

    def forget(self) -> None:
        """Leadership is lost: whether the rest is ever committed, the log will tell."""
        assert not self._batches, "the core has them all"
        self._sizes.clear()
