"""The disk, passed in.

Paths are plain strings: a `Path` object per file costs more than the call it is for. Every method
is blocking; whoever must not block calls it through the `Executor`. `OSError` of the real disk
arrives as `DiskError`, so that one `except` takes a log directory offline.

Durability contract, which the fake disk of the tests takes at its word: file data survives a
machine crash only after `File.sync`; a file's name (create, rename, remove) only after
`Disk.sync_dir` of its directory; both survive a process crash at once. A `sync` that failed must
not be tried again: what was dirty before it may be gone.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview


class DiskError(Exception):
    """A file operation failed: the log directory it happened in is to go offline."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class TooManyOpenFiles(DiskError):
    """The process has no descriptor left: close some and try again, nothing is broken."""


class Locked(DiskError):
    """Another process holds the directory: nothing is broken, but it must not be touched."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "locked by another process")


class File(Protocol):
    """An open file, read and written at positions; it has no cursor."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write all of `buffers`, one after the other, from `position` on (one vectored write)."""
        ...

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        ...

    def try_read_at(self, position: int, size: int) -> bytes | None:
        """Like `read_at`, but None where that would wait for the disk (`RWF_NOWAIT`)."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """fsync: when it returns, what was written before survives a machine crash."""
        ...

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """`create`: made if absent. Otherwise an absent file is a `DiskError`."""
        ...

    def map(self, path: str) -> memoryview:
        """A read-only view of a file that no longer changes (a closed segment's index)."""
        ...

    def read(self, path: str) -> bytes | None:
        """The whole of a small file, None if it is absent."""
        ...

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Put a small file in place whole or not at all: write `path.tmp`, sync it, rename."""
        ...

    def list_dir(self, path: str) -> list[tuple[str, int]]:
        """(name, size in bytes) of each entry, sorted by name; a directory's size is -1.

        What other threads rename or remove meanwhile is in it or not, and no error either way.
        """
        ...

    def size_of(self, path: str) -> int | None:
        """None if it is absent."""
        ...

    def space(self, path: str) -> tuple[int, int]:
        """Bytes of the file system that holds a directory: all of them, and those still usable."""
        ...

    def modified_ms(self, path: str) -> int: ...

    def set_modified_ms(self, path: str, at_ms: int) -> None: ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None:
        """Atomic; replaces a file at `new`. For directories too (then `new` must be absent)."""
        ...

    def remove(self, path: str) -> None:
        """Removing an absent file is no error."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None: ...

    def lock(self, path: str) -> "DirLock":
        """Take the lock file of a log directory; `DiskError` if another process holds it."""
        ...


class DirLock(Protocol):
    def release(self) -> None: ...
