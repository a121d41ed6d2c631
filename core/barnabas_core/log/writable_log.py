"""The half of a partition's log that takes batches: `stage`, then write.

`stage` checks batches, gives them offsets and notes them in memory; `begin_write`,
`PendingWrite.run` and `finish_write` bring everything staged so far to the files, one vectored
write per file. `PartitionLog` adds the rest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas_core.log.append import (
    Batch,
    check_append,
    check_replicated,
    open_append,
    opens_batches,
)
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.epochs.epoch_tracker import EpochTracker
from barnabas_core.log.epochs.leader_epoch import LeaderEpochCache
from barnabas_core.log.error import AppendError, LogOffline
from barnabas_core.log.index.offset_index import RELATIVE_OFFSET_MAX
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.log_writer import LogWriter
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.opening.replay import aborted_of, control_of, replay_batch
from barnabas_core.log.producers.producer_append import ProducerAppend
from barnabas_core.log.producers.producer_state import (
    AppendOrigin,
    CompletedTransaction,
    Duplicate,
    ProducerError,
    ProducerState,
)
from barnabas_core.log.producers.producer_tracker import ProducerTracker
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.segments.segment_store import SegmentStore
from barnabas_core.log.write import PendingWrite
from barnabas_core.ports import Buffer, DiskError
from barnabas_core.records.batch import LENGTH_OVERHEAD_BYTES, BatchHeader, patch_offset
from barnabas_core.wire.error_code import ErrorCode


@dataclass(slots=True)
class Appended:
    """Where batches went. Answer when `log_end_offset` has passed `last_offset`."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    """-1 if the records keep their own time."""
    log_start_offset: int
    duplicate: bool
    size_bytes: int
    record_count: int


class WritableLog:
    __slots__ = (
        "_environment",
        "_epochs",
        "_offline_reason",
        "_store",
        "_tracker",
        "_writer",
        "config",
        "high_watermark",
        "log_start_offset",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(
        self, environment: LogEnvironment, loaded: LoadedLog, config: LogConfig, now_ms: int
    ) -> None:
        self._environment = environment
        self.topic = loaded.topic
        self.partition = loaded.partition
        self.topic_id = loaded.topic_id
        self.config = config
        self.log_start_offset = loaded.log_start_offset
        self.high_watermark = loaded.high_watermark
        disk, files = environment.disk, environment.files
        self._store = SegmentStore(disk, files, loaded.dir_path, loaded.segments)
        self._epochs = EpochTracker(disk, self._store)
        self._tracker = ProducerTracker(environment, self._store, loaded, now_ms)
        self._writer = LogWriter(environment, self._store, self._tracker, loaded.log_end_offset)
        self._writer.draw_jitter(config)
        self._writer.name_changes = int(loaded.has_new_names)
        self._offline_reason: str | None = None

    # What there is

    @property
    def dir_path(self) -> str:
        return self._store.dir_path

    @property
    def segments(self) -> list[Segment]:
        return self._store.segments

    @property
    def log_end_offset(self) -> int:
        """The offset after the last *written* batch."""
        return self._writer.end_offset

    @property
    def staged_end_offset(self) -> int:
        """The offset that the next batch gets."""
        return self._writer.staged_end_offset

    @property
    def producers(self) -> ProducerState:
        state = self._tracker.loaded
        if state is None:
            state = self._tracker.load()
            state.on_high_watermark(self.high_watermark)
        return state

    @property
    def epochs(self) -> LeaderEpochCache:
        return self._epochs.cache

    @property
    def is_offline(self) -> bool:
        return self._offline_reason is not None

    def go_offline(self, reason: str) -> None:
        """The directory failed, or the log is gone: refuse everything from now on."""
        if self._offline_reason is None:
            self._offline_reason = reason
            self._store.forget()
            self._environment.tails.drop(self._writer.tail)

    def _refuse_if_offline(self) -> None:
        if self._offline_reason is not None:
            raise LogOffline(f"{self.topic}-{self.partition}: {self._offline_reason}")

    def assign_epoch(self, leader_epoch: int) -> None:
        """A leader begins: what is staged from here on is of its epoch."""
        self._refuse_if_offline()
        self._epochs.maybe_assign(leader_epoch, self._writer.staged_end_offset)

    # Staging as a leader

    def stage(
        self,
        buffer: bytearray | memoryview,
        *,
        leader_epoch: int,
        origin: AppendOrigin,
        now_ms: int,
        transaction_version: int = 0,
        is_opened: bool = False,
    ) -> Appended:
        """Take a leader's batches, to be written next; `AppendError` leaves the log as it was.

        Offsets, leader epoch and perhaps timestamps are patched into `buffer`, which belongs to the
        log from then on. `is_opened`: it comes from an `OpenedAppend`.
        """
        if self._offline_reason is not None:
            self._refuse_if_offline()
        config, writer = self.config, self._writer
        if not is_opened and opens_batches(config):
            buffer = open_append(buffer, config)
        append = check_append(buffer, config, origin, now_ms)
        batches, size_bytes, offset_count, newest_ms, has_producers = append
        producers: ProducerAppend | None = None
        if has_producers:
            producers = self.producers.begin(origin)
            duplicate = self._check_producers(producers, buffer, batches, transaction_version)
            if duplicate is not None:
                return self._repeated(duplicate, batches)
        first_offset = writer.staged_end_offset
        last_offset = first_offset + offset_count - 1
        if writer.must_roll(size_bytes, last_offset, newest_ms, config, now_ms):
            self._roll(first_offset, now_ms)
        self._epochs.maybe_assign(leader_epoch, first_offset)
        self._take(buffer, batches, leader_epoch)
        if producers is not None:
            self._note_aborted(self.producers.apply(producers))
        append_time_ms = now_ms if config.message_timestamp_type == "LogAppendTime" else -1
        # By position: names would cost as much as the object.
        return Appended(
            first_offset,
            last_offset,
            append_time_ms,
            self.log_start_offset,
            False,
            size_bytes,
            offset_count,
        )

    def _check_producers(
        self,
        producers: ProducerAppend,
        buffer: Buffer,
        batches: Sequence[Batch],
        transaction_version: int,
    ) -> Duplicate | None:
        offset = self._writer.staged_end_offset
        for position, header in batches:
            try:
                duplicate = producers.check_and_add(
                    header,
                    offset,
                    control=control_of(buffer, position, header),
                    transaction_version=transaction_version,
                )
            except ProducerError as error:
                raise AppendError(error.error_code, str(error)) from error
            if duplicate is not None:
                return duplicate
            offset += header.last_offset_delta + 1
        return None

    def _repeated(self, duplicate: Duplicate, batches: Sequence[Batch]) -> Appended:
        return Appended(
            duplicate.first_offset,
            duplicate.last_offset,
            duplicate.timestamp_ms,
            self.log_start_offset,
            duplicate=True,
            size_bytes=0,
            record_count=sum([header.record_count for _, header in batches]),
        )

    def _take(
        self, buffer: bytearray | memoryview, batches: Sequence[Batch], leader_epoch: int
    ) -> None:
        """Give the batches their offsets and queue them."""
        segment = self._store.segments[-1]
        active = segment.active or segment.activate(self._environment.files)
        interval_bytes = self.config.index_interval_bytes
        file_position = segment.staged_bytes
        if not file_position:
            segment.note_first_timestamp(batches[0][1].max_timestamp)
        writer = self._writer
        first_offset = offset = writer.staged_end_offset
        for position, header in batches:
            patch_offset(buffer, position, offset, leader_epoch)
            next_offset = offset + header.last_offset_delta + 1
            active.on_batch(header, next_offset - 1, file_position, interval_bytes)
            file_position += LENGTH_OVERHEAD_BYTES + header.batch_length
            offset = next_offset
        writer.add(first_offset, offset, buffer)

    # Staging as a follower

    def stage_replica(self, buffer: Buffer, *, now_ms: int) -> Appended:
        """Take batches as the leader wrote them, offsets and epochs and all.

        What `buffer` holds of a last, incomplete batch is left out.
        """
        self._refuse_if_offline()
        batches = check_replicated(buffer)
        self._check_order(batches)
        headers = [header for _, header in batches]
        if not headers:
            end_offset = self._writer.staged_end_offset
            return Appended(end_offset, end_offset - 1, -1, self.log_start_offset, False, 0, 0)
        self._maybe_roll_replica(headers, now_ms)
        self._take_replica(buffer, batches)
        for position, header in batches:
            if header.producer_id >= 0:
                completed = replay_batch(self.producers, buffer, position, header)
                self._note_aborted([completed] if completed is not None else [])
        return Appended(
            headers[0].base_offset,
            headers[-1].last_offset,
            -1,
            self.log_start_offset,
            duplicate=False,
            size_bytes=sum([header.size_bytes for header in headers]),
            record_count=sum([header.record_count for header in headers]),
        )

    def _check_order(self, batches: Iterable[Batch]) -> None:
        expected = self._writer.staged_end_offset
        for _, header in batches:
            if header.base_offset < expected:
                reason = f"a batch at offset {header.base_offset} where the log is at {expected}"
                raise AppendError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
            expected = header.next_offset

    def _maybe_roll_replica(self, headers: Sequence[BatchHeader], now_ms: int) -> None:
        size_bytes = sum([header.size_bytes for header in headers])
        newest_ms = max([header.max_timestamp for header in headers])
        last_offset = headers[-1].last_offset
        if self._writer.must_roll(size_bytes, last_offset, newest_ms, self.config, now_ms):
            base_offset = self._writer.staged_end_offset
            if last_offset - base_offset > RELATIVE_OFFSET_MAX:
                base_offset = headers[0].base_offset
            self._roll(base_offset, now_ms)

    def _take_replica(self, buffer: Buffer, batches: Sequence[Batch]) -> None:
        segment = self._store.active
        active = segment.active or segment.activate(self._environment.files)
        start = segment.staged_bytes
        if not start:
            segment.note_first_timestamp(batches[0][1].max_timestamp)
        interval_bytes = self.config.index_interval_bytes
        for position, header in batches:
            self._epochs.maybe_assign(header.partition_leader_epoch, header.base_offset)
            active.on_batch(header, header.last_offset, start + position, interval_bytes)
        position, header = batches[-1]
        end = position + header.size_bytes
        whole = buffer if end == len(buffer) else memoryview(buffer)[:end]
        # From the staged end, not from the first batch: a compacted leader has gaps.
        self._writer.add(self._writer.staged_end_offset, header.next_offset, whole)

    # Both

    def _roll(self, base_offset: int, now_ms: int) -> None:
        if self._tracker.is_stored:
            self.producers  # noqa: B018 - loads it: the new segment starts with its snapshot
        self._writer.roll(base_offset, self.config, now_ms)

    def _note_aborted(self, completed: Iterable[CompletedTransaction]) -> None:
        for transaction in completed:
            if transaction.is_aborted:
                active = self._store.active.activate(self._environment.files)
                active.aborted.append(aborted_of(transaction))

    # Writing

    def begin_write(self) -> PendingWrite | None:
        """Everything staged so far, to `run` and then to `finish_write`; None if there is nothing.

        Only one write may be under way.
        """
        self._refuse_if_offline()
        return self._writer.begin()

    def finish_write(self, write: PendingWrite) -> None:
        """`write` has run: `log_end_offset` moves."""
        self._refuse_if_offline()
        self._writer.finish(write)

    def write(self) -> None:
        """All three steps here and now."""
        write = self.begin_write()
        if write is None:
            return
        try:
            write.run()
        except DiskError as error:
            self.go_offline(str(error))
            raise
        self._writer.finish(write)
