"""The log of one partition: segments on the disk, and what is known of them in memory.

Appending takes two steps, `stage` and write (`WritableLog`). Offsets that anybody may see
(`log_end_offset`, readers, acknowledgements) are those of *written* batches; only one write is
under way at a time, and staging goes on meanwhile. Whoever staged something is answered when
`log_end_offset` passes its `last_offset`; that holds for a duplicate too, whose original may itself
wait to be written.

One owner calls all of this from one thread; only `PendingWrite.run`, `FlushJob.run`, the slices of
a `LogRead` and the lookups by timestamp may run in others. When a `DiskError` comes out of any of
it, the owner takes the directory offline, and the log refuses everything with `LogOffline`.

`flush` moves the recovery point, from which on a restart after a crash must look at every batch.
Truncation moves it back: the owner writes the recovery point checkpoint *before* that
(`LogManager.truncate` does), or a crash could trust what was never flushed.
"""

from barnabas_core.log.cleaner.clean import CleanedGroup
from barnabas_core.log.cleaner.replacement import LogParts, Replacement
from barnabas_core.log.error import OffsetOutOfRange
from barnabas_core.log.flush import FlushJob
from barnabas_core.log.flushable_log import FlushableLog
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.read import FileSlice, LogRead, SegmentReader, memory_slices
from barnabas_core.log.reap import ReapJob
from barnabas_core.log.retention import SegmentView, plan_retention
from barnabas_core.log.segments.file_name import (
    LOG,
    PRODUCER_SNAPSHOT,
    DirectoryState,
    departing_directory,
    file_name,
)
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.segments.segment_store import RetireJob
from barnabas_core.log.timestamp import FoundRecord, find_by_timestamp, find_newest
from barnabas_core.log.writable_log import Appended
from barnabas_core.log.write import write_indexes, write_whole

__all__ = ["Appended", "PartitionLog"]

_FOR_EVER_MS = 2**63 - 1


class PartitionLog(FlushableLog):
    __slots__ = ()

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.dir_path}, {self.log_start_offset}..{self.log_end_offset}, "
            f"high watermark {self.high_watermark})"
        )

    @property
    def size_bytes(self) -> int:
        return self._store.size_bytes

    @property
    def last_stable_offset(self) -> int:
        """Up to where `read_committed` readers may look."""
        if self._tracker.loaded is None and not self._tracker.is_stored:
            return self.high_watermark
        first_unstable = self.producers.first_unstable_offset()
        if first_unstable is None or first_unstable >= self.high_watermark:
            return self.high_watermark
        return max(first_unstable, self.log_start_offset)

    def advance_high_watermark(self, offset: int) -> bool:
        """Readers may see records below `offset`; whether that is news."""
        offset = min(offset, self.log_end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        if self._tracker.loaded is not None:
            self._tracker.loaded.on_high_watermark(offset)
        return True

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        up_to: int,
        min_one_batch: bool = True,
        may_block: bool = True,
    ) -> LogRead:
        """Batches from the one with `offset` on, below `up_to`, of one segment.

        At least one batch if `min_one_batch`, however large it is. An event loop passes
        `may_block=False` and gets `ReadPending` where finding the position would wait for the disk.
        """
        self._refuse_if_offline()
        end_offset = self._writer.end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, end_offset)
        if offset >= up_to or offset == end_offset:
            return LogRead(offset, ())
        tail = self._writer.tail
        if tail.holds(offset):
            buffers = tail.read(offset, max_bytes, up_to, min_one_batch=min_one_batch)
            return LogRead(offset, memory_slices(buffers))
        bare: FileSlice | None = None
        index = self._store.index_of(offset)
        for number, segment in enumerate(self._store.segments[index:], index):
            # Nothing to look for where all of the segment may be read.
            bound = None if self._store.end_of(number, end_offset) <= up_to else up_to
            reader = SegmentReader(segment, self._environment.files, may_block=may_block)
            found = reader.slice(offset, max_bytes, bound, min_one_batch=min_one_batch)
            if found is not None and len(found) and reader.is_bare:
                # Alone it would puzzle clients: they look for the record. Only if nothing follows.
                bare = found
            elif found is not None:
                found = found if len(found) else bare
                return LogRead(offset, (found,) if found is not None else ())
        return LogRead(offset, (bare,) if bare is not None else ())

    def aborted_transactions(self, start_offset: int, up_to: int) -> list[AbortedTransaction]:
        """What a `read_committed` reader of [start_offset, up_to) must skip, by first offset."""
        self._refuse_if_offline()
        return self._store.aborted(start_offset, up_to)

    def offset_for_timestamp(self, timestamp_ms: int) -> FoundRecord | None:
        """The first record whose timestamp reaches `timestamp_ms`. Reads from the disk."""
        self._refuse_if_offline()
        files, start = self._environment.files, self.log_start_offset
        return self._store.look_up(lambda it: find_by_timestamp(it, files, timestamp_ms, start))

    def max_timestamp_offset(self) -> FoundRecord | None:
        """The first record with the largest timestamp. Reads from the disk."""
        self._refuse_if_offline()
        return self._store.look_up(lambda it: find_newest(it, self._environment.files))

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch <= `epoch`, where it ends); (-1, -1) if undefined."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    # Rolling

    def roll(self, now_ms: int) -> None:
        """Begin a new segment, unless the active one is empty; blocks."""
        self._refuse_if_offline()
        if self._store.active.staged_bytes:
            self._roll(self._writer.staged_end_offset, now_ms)
        self.write()

    # Truncating

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Forget everything from `offset` on; blocks. No write may be under way."""
        self.write()
        if offset >= self.log_end_offset:
            # Of a leader that never wrote anything there may be an epoch at the very end.
            self._epochs.truncate_from_end(offset)
            return
        if offset < self._store.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset, now_ms)
            return
        later = [it for it in self._store.segments if it.base_offset > offset]
        self._begin_retire(later[::-1], now_ms).run()
        self._end_at(self._store.truncate_active(offset))

    def _end_at(self, offset: int) -> None:
        self._truncation_count += 1
        self._writer.reset(offset)
        self._writer.name_changes += 1
        self._epochs.truncate_from_end(offset)
        self._tracker.truncate(offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.log_start_offset = min(self.log_start_offset, offset)

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, log_start_offset: int | None = None
    ) -> None:
        """Forget everything; the next batch gets `offset`. Blocks. No write may be under way.

        `log_start_offset`: for readers it begins there, within the batch that is to come.
        """
        self.write()
        disk = self._environment.disk
        self._begin_retire(list(self._store.segments), now_ms).run()
        self._tracker.clear()
        segment = Segment(self.dir_path, offset, created_at_ms=now_ms)
        segment.active = ActiveIndex(offset)
        write_whole(disk, segment.path(LOG), b"")
        self._store.segments.append(segment)
        self._epochs.clear()
        self._end_at(offset)
        self.recovery_point = self.high_watermark = offset
        self.log_start_offset = offset if log_start_offset is None else log_start_offset

    # Deleting

    def advance_log_start(self, offset: int) -> bool:
        """Records below `offset` are gone for readers; whether that is news."""
        self._refuse_if_offline()
        if offset > self.high_watermark:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        if self._tracker.loaded is not None:
            self._tracker.loaded.on_log_start(offset)
        return True

    def segment_views(self) -> list[SegmentView]:
        """The segments as the cleaner sees them."""
        return list(self._store.views(self.log_end_offset, with_first_timestamps=True))

    def retention_job(self, now_ms: int) -> RetireJob | None:
        """Apply retention: the files of the segments that go, to `run` in a thread.

        They are out of the log at once. No write may be under way: the active segment may have
        expired too, and is then sealed here and now.
        """
        self._refuse_if_offline()
        views = list(self._store.views(self.log_end_offset, with_first_timestamps=False))
        plan = plan_retention(
            views, self.config, now_ms, self.high_watermark, self.log_start_offset
        )
        if not plan.deletions:
            return None
        going = self._flushed({deletion.base_offset for deletion in plan.deletions})
        if plan.roll_active:
            self.roll(now_ms)
        self.advance_log_start(plan.log_start_offset)
        if not going:
            return None
        job = self._begin_retire(going, now_ms)
        job.obsolete = self._tracker.forget_before(self._store.segments[0].base_offset)
        self._writer.name_changes += 1
        return job

    def delete_old_segments(self, now_ms: int) -> int:
        """Apply retention here and now; how many segments went."""
        job = self.retention_job(now_ms)
        if job is None:
            return 0
        job.run()
        return len(job.base_offsets)

    def _flushed(self, bases: set[int]) -> list[Segment]:
        """The closed ones wholly before the recovery point; others go after the next flush.

        What follows them, the producer snapshot above all, must be durable before they go.
        """
        if self._has_new_names:
            return []
        return [
            segment
            for index, segment in enumerate(self._store.segments[:-1])
            if segment.base_offset in bases
            and self._store.end_of(index, self.log_end_offset) <= self.recovery_point
        ]

    def _begin_retire(self, segments: list[Segment], now_ms: int) -> RetireJob:
        return self._store.begin_retire(segments, now_ms + self.config.file_delete_delay_ms)

    def replacement(self, group: CleanedGroup, now_ms: int) -> Replacement:
        """The way of a rewritten segment into the log, for the cleaner to go step by step."""
        self._refuse_if_offline()
        delete_at_ms = now_ms + self.config.file_delete_delay_ms
        parts = LogParts(self._environment, self._store, self._tracker, self._writer.tail)
        return Replacement(parts, group, delete_at_ms)

    def reap_job(self, now_ms: int) -> ReapJob:
        """To delete the files of segments that were retired `file.delete.delay.ms` ago."""
        self._refuse_if_offline()
        return ReapJob(self._environment.disk, self._store.take_due(now_ms))

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers that were idle for too long; how many. What is not loaded can wait."""
        state = self._tracker.loaded
        if state is None:
            return 0
        return state.expire(now_ms, self._environment.producer_expiration_ms)

    # Ending

    def close(self, now_ms: int) -> None:
        """Write and flush everything, indexes and producers included; blocks."""
        job = self.begin_close()
        if job is not None:
            self._run_here(job)
        self.finish_close(job, now_ms)

    def begin_close(self) -> FlushJob | None:
        """Write everything; the job, if there is one, makes it durable. Then `finish_close`."""
        if self.is_offline:
            return None
        self.write()
        self._write_end()
        self.reap_job(_FOR_EVER_MS).run()
        return self.flush_job()

    def finish_close(self, job: FlushJob | None, now_ms: int) -> None:
        """`job` has run."""
        if job is not None:
            self.finish_flush(job, now_ms)
        self.go_offline("closed")

    def _write_end(self) -> None:
        """What a clean restart needs: the active segment's indexes, the producers at the end."""
        disk = self._environment.disk
        segment = self._store.active
        if segment.active is None:
            return  # nothing was appended since it was opened
        write_indexes(disk, segment)
        segment.seal()
        end_offset = self.log_end_offset
        if self._tracker.is_stored:
            self._tracker.load()
        # Like Kafka: without a snapshot there never was a producer.
        if end_offset and end_offset not in self._tracker.snapshot_offsets:
            path = f"{self.dir_path}/{file_name(end_offset, PRODUCER_SNAPSHOT)}"
            write_whole(disk, path, self._tracker.encode())
            self._tracker.note_snapshot(end_offset)
        # All of it is to be synced, whatever was flushed before.
        self._writer.name_changes += 1
        self.recovery_point = min(self.recovery_point, segment.base_offset)

    def rename_for_delete(
        self, unique: bytes, state: DirectoryState = DirectoryState.DELETE
    ) -> str:
        """Move the partition out of the way; the path of what is to be removed."""
        self.go_offline("deleted")
        parent, _, _ = self.dir_path.rpartition("/")
        name = departing_directory(self.topic, self.partition, state, unique)
        path = f"{parent}/{name}"
        self.rename(path)
        return path

    def rename(self, path: str) -> None:
        """Give the partition's directory another name; nobody may read it meanwhile."""
        old = self.dir_path
        self._store.move(path)
        self._environment.disk.rename(old, path)
