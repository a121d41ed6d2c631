"""Making a log durable: what to fsync, as a job for a thread.

A job covers everything written when it was made: the `.log` files from the recovery point on, the
index files of those that are sealed, producer snapshots, the leader epochs, and last the names of
new files. Of a file that was made anew and stayed empty there is only the name to be kept: a sync
of its own would wait for nothing. Only when the job has run may the recovery point move.
A failed fsync is never tried again: the kernel may have dropped the pages it could not write, and
the next fsync would then succeed.
"""

from dataclasses import dataclass, field

from barnabas_core.ports import Disk, DiskError, File


@dataclass(slots=True)
class FlushJob:
    disk: Disk
    end_offset: int
    """Where the recovery point may go afterwards."""
    truncation_count: int
    """How often the log had been truncated when the job was made: if that changed, it is void."""
    name_changes: int = 0
    """How many of them the job makes durable."""
    open_files: list[File] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """Closed files that may have been cut since they were last durable."""
    whole_paths: list[str] = field(default_factory=list)
    """Files that were written whole, under a name that was free."""
    directories: list[str] = field(default_factory=list)
    epochs: tuple[str, bytes] | None = None

    def run(self) -> None:
        """The blocking part: thread-safe, and `DiskError` means that the directory is lost."""
        for file in self.open_files:
            file.sync()
        for path in self.paths:
            _sync_unless_gone(self.disk, path)
        for path in self.whole_paths:
            if self.disk.size_of(path):
                _sync_unless_gone(self.disk, path)
        if self.epochs is not None:
            self.disk.replace(*self.epochs)
        for directory in self.directories:
            if not self._is_synced_with_epochs(directory):
                self.disk.sync_dir(directory)

    def _is_synced_with_epochs(self, directory: str) -> bool:
        """Replacing a file makes all names beside it durable."""
        return self.epochs is not None and self.epochs[0].rpartition("/")[0] == directory


def _sync_unless_gone(disk: Disk, path: str) -> None:
    """Retention may have taken the file since: then there is nothing to keep."""
    try:
        file = disk.open(path, read_only=True)
    except DiskError:
        if disk.size_of(path) is None:
            return
        raise
    file.sync()
    file.close()
