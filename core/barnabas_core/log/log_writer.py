"""The growing end of a log: where staged batches go, when a segment is full, what is written when.

Positions and roll decisions are made at staging time, on what will be in the files; readers see
only `end_offset` and the segments' `size_bytes`, which move when a write has finished.
"""

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.offset_index import RELATIVE_OFFSET_MAX
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producers.producer_tracker import ProducerTracker
from barnabas_core.log.segments.file_name import LOG
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.segments.segment_store import SegmentStore
from barnabas_core.log.segments.tail_cache import Tail
from barnabas_core.log.write import Append, PendingWrite, WriteGroup
from barnabas_core.ports import Buffer


class LogWriter:
    __slots__ = (
        "_environment",
        "_groups",
        "_store",
        "_tracker",
        "_writing",
        "end_offset",
        "name_changes",
        "roll_jitter_ms",
        "staged_end_offset",
        "tail",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        store: SegmentStore,
        tracker: ProducerTracker,
        end_offset: int,
    ) -> None:
        self._environment = environment
        self._store = store
        self._tracker = tracker
        self._groups: list[WriteGroup] = []
        self._writing: PendingWrite | None = None
        self.end_offset = end_offset
        self.staged_end_offset = end_offset
        self.tail = Tail()
        self.roll_jitter_ms = 0
        # Counts what made a name or a sealed segment that only a flush makes durable.
        self.name_changes = 0

    # Staging

    def must_roll(
        self, size_bytes: int, last_offset: int, newest_ms: int, config: LogConfig, now_ms: int
    ) -> bool:
        """Whether batches of that size, end and age have to go to a new segment."""
        segment = self._store.segments[-1]
        staged_bytes = segment.staged_bytes
        if last_offset - segment.base_offset > RELATIVE_OFFSET_MAX:
            return True
        if not staged_bytes:
            return False
        if staged_bytes + size_bytes > config.segment_bytes:
            return True
        active = segment.active or segment.activate(self._environment.files)
        if active.is_full(config.segment_index_bytes):
            return True
        first_ms = segment.first_timestamp_ms(self._environment.files)
        if first_ms >= 0 and newest_ms >= 0:
            age_ms = newest_ms - first_ms  # in the time of the records, if they have any
        else:
            age_ms = now_ms - segment.created_at_ms
        return age_ms > config.segment_ms_max - self.roll_jitter_ms

    def roll(self, base_offset: int, config: LogConfig, now_ms: int) -> None:
        """Seal the active segment and begin another; both reach the disk with the next write."""
        old = self._store.active
        old.activate(self._environment.files)
        self._group_for(old).is_sealed = True
        segment = Segment(self._store.dir_path, base_offset, created_at_ms=now_ms)
        segment.active = ActiveIndex(base_offset)
        self._store.segments.append(segment)
        self.staged_end_offset = base_offset
        snapshot = self._tracker.encode()
        self._groups.append(WriteGroup(segment, 0, creates_file=True, snapshot=snapshot))
        self._tracker.note_snapshot(base_offset)
        self.draw_jitter(config)

    def draw_jitter(self, config: LogConfig) -> None:
        """Spread the rolls of logs that began together."""
        bound_ms = min(config.segment_jitter_ms, config.segment_ms_max)
        self.roll_jitter_ms = self._environment.rng.randrange(bound_ms) if bound_ms > 0 else 0

    def add(self, first_offset: int, next_offset: int, buffer: Buffer) -> None:
        """Batches for the active segment, whose offsets follow what is staged."""
        segment = self._store.segments[-1]
        group = self._group_for(segment)
        group.appends.append((first_offset, next_offset, buffer))
        size_bytes = len(buffer)
        group.size_bytes += size_bytes
        segment.staged_bytes += size_bytes
        self.staged_end_offset = next_offset

    def _group_for(self, segment: Segment) -> WriteGroup:
        if self._groups and self._groups[-1].segment is segment:
            return self._groups[-1]
        group = WriteGroup(segment, segment.staged_bytes)
        self._groups.append(group)
        return group

    # Writing

    def begin(self) -> PendingWrite | None:
        assert self._writing is None, "one write at a time"
        if not self._groups:
            return None
        for group in self._groups:
            if not group.creates_file:
                group.file = group.segment.file(self._environment.files)
        pending = PendingWrite(self._environment.disk, self._groups, self.staged_end_offset)
        self._groups = []
        self._writing = pending
        return pending

    def finish(self, write: PendingWrite) -> None:
        assert write is self._writing, "not the write under way"
        self._writing = None
        appends: list[Append] = []
        for group in write.groups:
            self._publish(group)
            appends += group.appends
        if appends:
            self._environment.tails.add(self.tail, appends)
        self.end_offset = write.end_offset

    def _publish(self, group: WriteGroup) -> None:
        segment = group.segment
        segment.size_bytes = group.position + group.size_bytes
        if group.creates_file:
            assert group.file is not None
            self._environment.files.put(segment.path(LOG), group.file)
            self.name_changes += 1
        if group.is_sealed:
            segment.seal()
            self.name_changes += 1

    def reset(self, end_offset: int) -> None:
        """After a truncation, when nothing is staged or under way."""
        assert not self._groups
        assert self._writing is None
        self.end_offset = self.staged_end_offset = end_offset
        self._environment.tails.drop(self.tail)
