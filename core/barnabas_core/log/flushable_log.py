"""The part of a log that makes what is written durable, and knows how far that is.

Everything before the recovery point survives a crash of the machine. It moves when a `FlushJob` has
run, and back when the log is truncated.
"""

from itertools import pairwise

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.flush import FlushJob
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.segments.file_name import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.writable_log import WritableLog
from barnabas_core.ports import DiskError


class FlushableLog(WritableLog):
    __slots__ = (
        "_flushed_at_ms",
        "_flushed_name_changes",
        "_is_new",
        "_truncation_count",
        "recovery_point",
    )

    def __init__(
        self, environment: LogEnvironment, loaded: LoadedLog, config: LogConfig, now_ms: int
    ) -> None:
        super().__init__(environment, loaded, config, now_ms)
        self.recovery_point = loaded.recovery_point
        self._is_new = loaded.is_new
        self._flushed_at_ms = now_ms
        self._flushed_name_changes = 0
        self._truncation_count = 0

    @property
    def truncation_count(self) -> int:
        """How often the log lost its end: what was made of it before is void."""
        return self._truncation_count

    def needs_flush(self, now_ms: int) -> bool:
        """A segment was sealed, or `flush.messages` or `flush.ms` say so."""
        if len(self._store.segments) > 1 and self._has_new_names:
            return True
        unflushed = self.log_end_offset - self.recovery_point
        if unflushed <= 0:
            return False
        return (
            unflushed >= self.config.flush_messages
            or now_ms - self._flushed_at_ms >= self.config.flush_ms
        )

    def flush_job(self) -> FlushJob | None:
        """Everything written and not yet durable, to `run` in a thread; None if there is nothing.

        Then `finish_flush`.
        """
        self._refuse_if_offline()
        end_offset = self._flushable_end()
        is_current = end_offset <= self.recovery_point and not self._has_new_names
        if is_current and not self._epochs.is_changed:
            return None
        job = FlushJob(self._environment.disk, end_offset, self._truncation_count)
        job.name_changes = self._writer.name_changes
        # A segment may have been flushed to its end before it was sealed, its indexes written.
        for segment in self._store.from_offset(self.recovery_point - 1):
            if segment.active is None:
                self._add_closed(segment, job)
            elif segment.size_bytes:
                job.open_files.append(segment.file(self._environment.files))
        job.whole_paths += self._tracker.paths_from(self.recovery_point)
        job.epochs = self._epochs.take_file()
        if self._has_new_names:
            job.directories.append(self.dir_path)
        if self._is_new:
            job.directories.append(self.dir_path.rpartition("/")[0])
            self._is_new = False
        return job

    @property
    def _has_new_names(self) -> bool:
        return self._writer.name_changes != self._flushed_name_changes

    def _flushable_end(self) -> int:
        """Not beyond a segment whose index files are about to be written."""
        for segment, following in pairwise(self._store.segments):
            if segment.active is not None:
                return min(self.log_end_offset, following.base_offset - 1)
        return self.log_end_offset

    def _add_closed(self, segment: Segment, job: FlushJob) -> None:
        if segment.size_bytes or not self._is_new or self._truncation_count:
            job.paths.append(segment.path(LOG))
        suffixes = [OFFSET_INDEX, TIME_INDEX]
        if segment.has_aborted:
            suffixes.append(TRANSACTION_INDEX)
        job.whole_paths += [segment.path(suffix) for suffix in suffixes]

    def finish_flush(self, job: FlushJob, now_ms: int) -> None:
        """`job` has run: the recovery point moves, unless a truncation came between."""
        self._refuse_if_offline()
        if job.truncation_count == self._truncation_count:
            self.recovery_point = max(self.recovery_point, job.end_offset)
            self._flushed_at_ms = now_ms
            self._flushed_name_changes = job.name_changes

    def flush(self, now_ms: int) -> None:
        """All of it here and now."""
        job = self.flush_job()
        if job is None:
            return
        self._run_here(job)
        self.finish_flush(job, now_ms)

    def _run_here(self, job: FlushJob) -> None:
        try:
            job.run()
        except DiskError as error:
            self.go_offline(str(error))
            raise
