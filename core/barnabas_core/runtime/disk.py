"""The real disk: positioned, vectored I/O; every `OSError` arrives as a `DiskError`.

An open file closes its descriptor when nothing refers to it any more: a reader in a thread may
outlive the file's place in the handle cache, and a descriptor closed under a running `pread` could
by then belong to another file. `close` is for those who know that they are the last.
"""

import errno
import fcntl
import mmap
import os
import resource
import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barnabas_core.ports import Buffer, DiskError, Locked, TooManyOpenFiles
from barnabas_core.ports.disk import DirLock

# A small index is cheaper to read than to map, which takes a page and an unmap later.
MAP_BYTES_MIN = 16 * 1024

_FILE_LIMIT_MAX = 1 << 20
_IOV_MAX = os.sysconf("SC_IOV_MAX")
_NO_NOWAIT = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failure(path, error) from error


def _failure(path: str, error: OSError) -> DiskError:
    reason = error.strerror or str(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return TooManyOpenFiles(path, reason)
    return DiskError(path, reason)


def raise_file_limit() -> int:
    """Ask for as many descriptors as this process may have; how many that is."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = _FILE_LIMIT_MAX
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def _close(descriptor: int) -> None:
    os.close(descriptor)


class RealFile:
    __slots__ = ("__weakref__", "_descriptor", "_finalizer", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._finalizer = weakref.finalize(self, _close, descriptor)

    def size(self) -> int:
        try:
            return os.fstat(self._descriptor).st_size
        except OSError as error:
            raise self._failure(error) from error

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        wanted = sum(map(len, buffers))
        try:
            if len(buffers) <= _IOV_MAX:
                written = os.pwritev(self._descriptor, buffers, position)
                if written == wanted:
                    return
                self._write_rest(position + written, _after(buffers, written))
            else:
                self._write_rest(position, buffers)
        except OSError as error:
            raise self._failure(error) from error

    def _write_rest(self, position: int, buffers: Sequence[Buffer]) -> None:
        while buffers:
            written = os.pwritev(self._descriptor, buffers[:_IOV_MAX], position)
            position += written
            buffers = _after(buffers, written)

    def read_at(self, position: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, position)
            if len(data) == size or not data:
                return data
            return self._read_rest(data, position, size)
        except OSError as error:
            raise self._failure(error) from error

    def _read_rest(self, data: bytes, position: int, size: int) -> bytes:
        parts = [data]
        done = len(data)
        while done < size:
            data = os.pread(self._descriptor, size - done, position + done)
            if not data:
                break
            parts.append(data)
            done += len(data)
        return b"".join(parts)

    def try_read_at(self, position: int, size: int) -> bytes | None:
        buffer = bytearray(size)
        try:
            done = os.preadv(self._descriptor, [buffer], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _NO_NOWAIT:  # a file system without it: its pages are memory
                return self.read_at(position, size)
            raise self._failure(error) from error
        # A short count may be the end of the file or the end of what is cached: let `read_at` tell.
        return bytes(buffer) if done == size else None

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._failure(error) from error

    def sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        self._finalizer()

    def _failure(self, error: OSError) -> DiskError:
        return _failure(self.path, error)


def _after(buffers: Sequence[Buffer], written: int) -> list[Buffer]:
    """What is left of `buffers` once `written` bytes of them are on the disk."""
    rest: list[Buffer] = []
    for buffer in buffers:
        if written >= len(buffer):
            written -= len(buffer)
        elif written:
            rest.append(memoryview(buffer)[written:])
            written = 0
        else:
            rest.append(buffer)
    return rest


class UnsyncedFile(RealFile):
    """For data that need not outlive the machine: the page cache is enough."""

    __slots__ = ()

    def sync(self) -> None:
        pass


class RealLock:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class RealDisk:
    """The file system of this machine.

    Without `syncs` nothing is forced to the disk: it survives the process, not the machine.
    """

    __slots__ = ("_file", "_syncs")

    def __init__(self, *, syncs: bool = True) -> None:
        self._syncs = syncs
        self._file = RealFile if syncs else UnsyncedFile

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> RealFile:
        flags = (os.O_RDONLY if read_only else os.O_RDWR) | os.O_CLOEXEC
        if create:
            flags |= os.O_CREAT
        try:
            return self._file(path, os.open(path, flags, 0o644))
        except OSError as error:
            raise _failure(path, error) from error

    def map(self, path: str) -> memoryview:
        with _naming(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                if size < MAP_BYTES_MIN:
                    return memoryview(os.pread(descriptor, size, 0))
                return memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))
            finally:
                os.close(descriptor)

    def read(self, path: str) -> bytes | None:
        with _naming(path):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            with open(descriptor, "rb", buffering=0) as file:
                return file.readall()

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        temporary = path + ".tmp"
        durable = durable and self._syncs
        with _naming(path):
            with open(temporary, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        if durable:
            self.sync_dir(os.path.dirname(path))

    def list_dir(self, path: str) -> list[tuple[str, int]]:
        with _naming(path), os.scandir(path) as entries:
            sizes = [(entry.name, _entry_size(entry)) for entry in entries]
        return sorted([(name, size) for name, size in sizes if size is not None])

    def size_of(self, path: str) -> int | None:
        with _naming(path):
            try:
                return os.stat(path).st_size
            except FileNotFoundError:
                return None

    def space(self, path: str) -> tuple[int, int]:
        with _naming(path):
            found = os.statvfs(path)
            return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def modified_ms(self, path: str) -> int:
        with _naming(path):
            return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, at_ms: int) -> None:
        with _naming(path):
            os.utime(path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))

    def make_dirs(self, path: str) -> None:
        with _naming(path):
            os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        with _naming(old):
            os.rename(old, new)

    def remove(self, path: str) -> None:
        with _naming(path):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return

    def remove_tree(self, path: str) -> None:
        with _naming(path):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                return

    def sync_dir(self, path: str) -> None:
        if not self._syncs:
            return
        with _naming(path):
            descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def lock(self, path: str) -> DirLock:
        with _naming(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise Locked(path) from None
        return RealLock(descriptor)


def _entry_size(entry: "os.DirEntry[str]") -> int | None:
    """None if it went away after the directory was read: another thread renamed or removed it."""
    if entry.is_dir():
        return -1
    try:
        return entry.stat(follow_symlinks=True).st_size
    except FileNotFoundError:
        return None
