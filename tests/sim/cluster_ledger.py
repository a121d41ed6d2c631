"""What producers were told and what readers saw.

1. A record that was acknowledged stays, at the offset that was said.
2. At an offset there is one record, whoever reads it and whenever.
3. What one producer wrote to a partition is there once, and in its order.
4. Nobody reads what nobody wrote.
5. A reader misses nothing but what was to be deleted, from the start of the log on.
"""

from dataclasses import dataclass

from tests.sim.invariant import check

NO_END = 1 << 62


@dataclass(slots=True)
class ClusterCount:
    acknowledged: int = 0
    retried: int = 0
    records_read: int = 0
    session_polls: int = 0
    """Incremental fetches that were answered."""
    followers_read: int = 0
    """Answers of followers with records in them."""
    isr_changes: int = 0
    leader_changes: int = 0
    truncations: int = 0
    """Of logs that really got shorter."""
    deletions: int = 0
    """DeleteRecords that were answered well."""
    skipped: int = 0
    """Readers that found what they wanted deleted."""
    recreations: int = 0
    """Topics that were deleted and made again under the same name."""
    directories_lost: int = 0
    """While the broker went on with another."""


Value = tuple[int, int]
"""(producer, number): numbers count up."""


class PartitionLedger:
    def __init__(self, name: str, count: ClusterCount) -> None:
        self._name = name
        self._count = count
        self._asked: dict[Value, None] = {}
        self.acknowledged: dict[Value, int] = {}
        """Where it is, -1 if its producer was not told."""
        self.seen: dict[int, Value] = {}
        self._offset_of: dict[Value, int] = {}
        self.end = 0
        """Behind the last record that a reader has seen."""
        self.known_end = 0
        """Behind the last record that anybody has seen or was told of."""
        self.deletable_end = 0
        """What is below may be deleted: somebody asked for it, or it gets old."""

    def on_asked(self, values: list[Value]) -> None:
        for value in values:
            self._asked[value] = None

    def on_acknowledged(self, values: list[Value], base_offset: int) -> None:
        for place, value in enumerate(values):
            offset = base_offset + place if base_offset >= 0 else -1
            check(value not in self.acknowledged, self._name, value, "acknowledged twice")
            self.acknowledged[value] = offset
            self._count.acknowledged += 1
            if offset >= 0:
                self._note(offset, value)

    def on_read(self, offset: int, value: Value, position: int) -> None:
        """`position`: where its reader was."""
        check(offset == position, self._name, "has", offset, "where", position, "was to come")
        self._on_found(offset, value)
        self._count.records_read += 1
        self.end = max(self.end, offset + 1)

    def on_gone(self, log_start: int) -> None:
        """A reader was told that the log begins there, behind what it wanted."""
        self._check_start(log_start)
        self._count.skipped += 1

    def _check_start(self, log_start: int) -> None:
        end = self.deletable_end
        check(log_start <= end, self._name, "begins at", log_start, "deletable was up to", end)

    def _on_found(self, offset: int, value: Value) -> None:
        check(value in self._asked, self._name, "has", value, "at", offset, "that nobody wrote")
        self._note(offset, value)

    def _note(self, offset: int, value: Value) -> None:
        self.known_end = max(self.known_end, offset + 1)
        known = self.seen.setdefault(offset, value)
        check(known == value, self._name, "has", value, "and", known, "at", offset)
        where = self._offset_of.setdefault(value, offset)
        check(where == offset, self._name, "has", value, "at", where, "and at", offset)

    def check_complete(self, log: dict[int, Value], log_start: int) -> None:
        """`log`: all that there is in the end."""
        self._check_start(log_start)
        for offset, value in log.items():
            self._on_found(offset, value)
        for value, offset in self.acknowledged.items():
            where = self._offset_of.get(value, offset)
            is_there = where in log and log[where] == value
            is_deleted = where < log_start if where >= 0 else log_start > 0
            check(is_there or is_deleted, self._name, value, "was acknowledged and is gone")
        for offset in self.seen:
            is_there = offset in log or offset < log_start
            check(is_there, self._name, "offset", offset, "was seen and is gone")
        self._check_order(log)

    def _check_order(self, log: dict[int, Value]) -> None:
        last: dict[int, int] = {}
        for offset in sorted(log):
            producer, number = log[offset]
            before = last.get(producer, -1)
            check(number > before, self._name, "has", number, "after", before, "of", producer)
            last[producer] = number
