"""The leader epochs of one log and their file, read when somebody asks.

The file is written with the next flush, not with each change: the recovery point never passes
changes that are not in it, and what lies beyond is read out of the batches again after a crash.
"""

from barnabas_core.log.directories.checkpoint import (
    LEADER_EPOCH_FILE,
    CorruptFile,
    decode_leader_epochs,
    encode_leader_epochs,
)
from barnabas_core.log.epochs.leader_epoch import UNDEFINED_EPOCH, LeaderEpochCache
from barnabas_core.log.segments.segment_store import SegmentStore
from barnabas_core.ports import Disk


class EpochTracker:
    __slots__ = ("_cache", "_disk", "_latest", "_store", "is_changed")

    def __init__(self, disk: Disk, store: SegmentStore) -> None:
        self._disk = disk
        self._store = store
        self._cache: LeaderEpochCache | None = None
        # Assigned last: most batches have the epoch of the one before.
        self._latest = UNDEFINED_EPOCH
        self.is_changed = False

    @property
    def cache(self) -> LeaderEpochCache:
        if self._cache is None:
            self._cache = load_epochs(self._disk, self._store.dir_path)
        return self._cache

    def maybe_assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` writes at `start_offset`; nothing to note unless it is a new one."""
        if epoch == self._latest:
            return
        self._latest = epoch
        if epoch != self.cache.latest_epoch and epoch >= 0:
            self.is_changed |= self.cache.assign(epoch, start_offset)

    def truncate_from_end(self, log_end_offset: int) -> None:
        self._latest = UNDEFINED_EPOCH
        self.is_changed |= self.cache.truncate_from_end(log_end_offset)

    def truncate_from_start(self, log_start_offset: int) -> None:
        self.is_changed |= self.cache.truncate_from_start(log_start_offset)

    def clear(self) -> None:
        self._cache = LeaderEpochCache()
        self._latest = UNDEFINED_EPOCH
        self.is_changed = True

    def take_file(self) -> tuple[str, bytes] | None:
        """(path, content) if the file is out of date."""
        if not self.is_changed:
            return None
        self.is_changed = False
        return epochs_path(self._store.dir_path), encode_leader_epochs(self.cache.entries)


def load_epochs(disk: Disk, dir_path: str) -> LeaderEpochCache:
    data = disk.read(epochs_path(dir_path))
    if data is None:
        return LeaderEpochCache()
    try:
        return LeaderEpochCache(decode_leader_epochs(data))
    except CorruptFile:
        # It is only ever replaced whole, so this is not ours; the epochs of new batches come anew.
        return LeaderEpochCache()


def epochs_path(dir_path: str) -> str:
    return f"{dir_path}/{LEADER_EPOCH_FILE}"
