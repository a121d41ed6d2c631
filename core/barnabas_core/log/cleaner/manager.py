"""The state of compaction in one broker: who may be cleaned, how far each log was, what failed.

Decisions only: `runtime.cleaner_task` acts on them. One log is cleaned at a time. A log is out of
the running while it is *paused* (somebody truncates, moves or deletes it; pauses nest), for a while
after its worker *failed* (killed, no memory, no room on the disk), longer each time, and until the
next restart once it was *given up*, because it is damaged.

Each log directory remembers in `cleaner-offset-checkpoint` up to where its logs are clean. The file
may lag behind: then a little is cleaned twice.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from barnabas_core.log.cleaner.clean import CleanTask
from barnabas_core.log.cleaner.selection import (
    Candidate,
    LogView,
    filthiest,
    is_cleanable,
    measure,
)
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.directories.checkpoint import (
    CLEANER_FILE,
    CorruptFile,
    PartitionOffsets,
    decode_offsets,
    encode_offsets,
)
from barnabas_core.log.partition_log import PartitionLog

_RETRY_MS_MIN = 60_000
_RETRY_MS_MAX = 3_600_000

Key = tuple[str, int]


class Choice(NamedTuple):
    candidate: Candidate | None
    resets: list[Candidate]
    """Logs whose checkpoint did not fit: to be noted with their `first_dirty_offset`."""


class CleanerManager:
    __slots__ = ("_failures", "_given_up", "_offsets", "_paused", "_retry_at_ms", "cleaning")

    def __init__(self) -> None:
        self._paused: Counter[Key] = Counter()
        self._failures: Counter[Key] = Counter()
        self._retry_at_ms: dict[Key, int] = {}
        self._given_up: dict[Key, str] = {}
        self._offsets: dict[str, PartitionOffsets] = {}
        self.cleaning: Key | None = None

    # Who may be cleaned

    def is_available(self, key: Key, now_ms: int) -> bool:
        if key == self.cleaning or self.is_paused(key) or key in self._given_up:
            return False
        return self._retry_at_ms.get(key, now_ms) <= now_ms

    def is_paused(self, key: Key) -> bool:
        return self._paused[key] > 0

    def pause(self, key: Key) -> None:
        self._paused[key] += 1

    def resume(self, key: Key) -> None:
        assert self._paused[key] > 0, key
        self._paused[key] -= 1

    def give_up(self, key: Key, reason: str) -> None:
        self._given_up[key] = reason

    def on_failure(self, key: Key, now_ms: int) -> None:
        """The worker did not end as it should: wait, twice as long each time."""
        self._failures[key] += 1
        wait_ms = min(_RETRY_MS_MIN * 2 ** (self._failures[key] - 1), _RETRY_MS_MAX)
        self._retry_at_ms[key] = now_ms + wait_ms

    @property
    def uncleanable(self) -> dict[Key, str]:
        """The logs given up, and why."""
        return dict(self._given_up)

    # How far each was cleaned

    def load(self, directory: str, data: bytes | None) -> None:
        """Take in the checkpoint file of a log directory; a damaged one means cleaning anew."""
        try:
            self._offsets[directory] = decode_offsets(data or b"")
        except CorruptFile:
            self._offsets[directory] = {}

    def checkpoint_offset(self, directory: str, key: Key) -> int | None:
        return self._offsets.get(directory, {}).get(key)

    def on_cleaned(self, directory: str, key: Key, clean_up_to: int) -> None:
        self._offsets.setdefault(directory, {})[key] = clean_up_to
        self._forget_failures(key)

    def encode_checkpoint(self, directory: str, present: Collection[Key]) -> bytes:
        """The checkpoint file of a directory; logs not `present` any more leave it."""
        offsets = self._offsets.setdefault(directory, {})
        for key in [it for it in offsets if it not in present]:
            del offsets[key]
        return encode_offsets(offsets)

    def forget(self, key: Key) -> None:
        """The log is gone: another one of that name starts from nothing."""
        for offsets in self._offsets.values():
            offsets.pop(key, None)
        self._forget_failures(key)
        self._given_up.pop(key, None)

    def _forget_failures(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._retry_at_ms.pop(key, None)


def checkpoint_path(directory: str) -> str:
    return f"{directory}/{CLEANER_FILE}"


def choose(views: Iterable[LogView], now_ms: int) -> Choice:
    """The filthiest of the logs that are worth cleaning."""
    cleanable, resets = [], []
    for view in views:
        candidate = measure(view, now_ms)
        if candidate.was_reset:
            resets.append(candidate)
        if is_cleanable(candidate, view.config):
            cleanable.append(candidate)
    return Choice(filthiest(cleanable), resets)


def view_of(log: PartitionLog, checkpoint_offset: int | None) -> LogView | None:
    """None if no segment is closed: most logs, most of the time, and found out cheaply."""
    closed_count = 0
    for segment in log.segments[:-1]:
        if segment.active is not None:
            break  # its index files are about to be written
        closed_count += 1
    if not closed_count:
        return None
    return LogView(
        log.topic,
        log.partition,
        log.config,
        tuple(log.segment_views()[: closed_count + 1]),
        log.log_start_offset,
        # A record must not go because of one that a crash could still lose.
        min(log.last_stable_offset, log.recovery_point),
        checkpoint_offset,
    )


def task_for(
    log: PartitionLog, candidate: Candidate, settings: CleanerSettings, now_ms: int
) -> CleanTask:
    return CleanTask(
        dir_path=log.dir_path,
        first_dirty_offset=candidate.first_dirty_offset,
        first_uncleanable_offset=candidate.first_uncleanable_offset,
        now_ms=now_ms,
        delete_retention_ms=log.config.delete_retention_ms,
        segment_bytes=log.config.segment_bytes,
        segment_index_bytes=log.config.segment_index_bytes,
        index_interval_bytes=log.config.index_interval_bytes,
        key_map_bytes=settings.dedupe_buffer_bytes,
        key_map_load_factor=settings.load_factor,
        io_buffer_bytes=settings.io_buffer_bytes,
        io_bytes_per_second=settings.io_bytes_per_second,
    )
