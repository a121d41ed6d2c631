"""A disk in memory that forgets what it was not told to keep.

It takes the contract of the `Disk` port at its word. Each file has contents as processes see them
and contents that survive a machine crash; between the two lies the list of writes since the last
`sync`. Each directory likewise: names as seen, durable names, and the changes since `sync_dir`.

- `crash_process` keeps what processes saw.
- `crash_machine` keeps of each list whatever it likes: nothing, everything, a prefix, any subset,
  the last one torn at any byte, a hole in the middle; files and directories independently.
- `crash_after(count)` lets the `count`-th operation from now on raise `Crash`, half done.
- `fail_sync_after(count)`: that `sync` fails, and what was dirty is silently gone, as with a kernel
  that drops the pages it could not write: another `sync` would succeed and help nothing.

All of it comes from one seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from barnabas_core.ports import Buffer, DiskError


class Crash(BaseException):
    """Everything stops here. Not an `Exception`, so that nobody handles it."""


@dataclass(slots=True)
class Change:
    """A write (or, with no data, a truncation to `position`)."""

    position: int
    data: bytes | None


@dataclass(eq=False, slots=True)
class FileNode:
    seen: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)
    modified_ms: int = 0

    def change(self, change: Change) -> None:
        apply_change(self.seen, change)
        self.pending.append(change)

    def sync(self) -> None:
        self.durable = bytearray(self.seen)
        self.pending.clear()


@dataclass(eq=False, slots=True)
class DirNode:
    seen: "dict[str, Node]" = field(default_factory=dict)
    durable: "dict[str, Node]" = field(default_factory=dict)
    pending: "list[list[tuple[str, Node | None]]]" = field(default_factory=list)
    """Each change is a few names set (or, with None, removed) at once."""

    def change(self, *names: "tuple[str, Node | None]") -> None:
        apply_names(self.seen, names)
        self.pending.append(list(names))

    def sync(self) -> None:
        self.durable = dict(self.seen)
        self.pending.clear()


Node = FileNode | DirNode
T = TypeVar("T")


def apply_change(content: bytearray, change: Change) -> None:
    if change.data is None:
        if change.position < len(content):
            del content[change.position :]
        else:
            content.extend(bytes(change.position - len(content)))
        return
    if len(content) < change.position:
        content.extend(bytes(change.position - len(content)))
    content[change.position : change.position + len(change.data)] = change.data


def apply_names(names: dict[str, Node], change: "Sequence[tuple[str, Node | None]]") -> None:
    for name, node in change:
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class FakeFile:
    def __init__(self, disk: "FakeDisk", path: str, node: FileNode) -> None:
        self._disk = disk
        self._node = node
        self._generation = disk.generation
        self.path = path

    def _step(self) -> None:
        assert self._generation == self._disk.generation, "a handle from before the crash"
        self._disk.step()

    def size(self) -> int:
        self._step()
        return len(self._node.seen)

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        data = b"".join(buffers)
        try:
            self._step()
        except Crash:
            kept = data[: self._disk.random.randrange(len(data) + 1)]
            if kept:
                self._node.change(Change(position, kept))
            raise
        self._node.change(Change(position, data))
        self._node.modified_ms = self._disk.now_ms

    def read_at(self, position: int, size: int) -> bytes:
        self._step()
        return bytes(self._node.seen[position : position + size])

    def try_read_at(self, position: int, size: int) -> bytes | None:
        self._step()
        if self._disk.is_cold:
            return None
        data = bytes(self._node.seen[position : position + size])
        return data if len(data) == size else None

    def truncate(self, size: int) -> None:
        self._step()
        if size != len(self._node.seen):
            self._node.change(Change(size, None))

    def sync(self) -> None:
        self._step()
        if self._disk.takes_sync_failure():
            self._node.pending.clear()
            raise DiskError(self.path, "the disk failed to write")
        self._node.sync()

    def close(self) -> None:
        pass


class FakeLock:
    def __init__(self, disk: "FakeDisk", path: str) -> None:
        self._disk = disk
        self._path = path
        self._generation = disk.generation

    def release(self) -> None:
        if self._generation == self._disk.generation:
            self._disk.locks.discard(self._path)


class FakeDisk:
    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)
        self.generation = 0
        self.operation_count = 0
        self.sync_count = 0
        self.now_ms = 0
        self.is_cold = False
        """Whether nothing can be read without waiting."""
        self.locks: set[str] = set()
        self.fails: Callable[[str], bool] | None = None
        """Paths on which opening and reading names fails."""
        self._root = DirNode()
        self._crash_at: int | None = None
        self._sync_failure_in: int | None = None

    # Injecting

    def crash_after(self, count: int) -> None:
        self._crash_at = self.operation_count + count

    def fail_sync_after(self, count: int) -> None:
        self._sync_failure_in = count

    def takes_sync_failure(self) -> bool:
        self.sync_count += 1
        if self._sync_failure_in is None:
            return False
        self._sync_failure_in -= 1
        if self._sync_failure_in >= 0:
            return False
        self._sync_failure_in = None
        return True

    def step(self) -> None:
        self.operation_count += 1
        if self._crash_at is not None and self.operation_count >= self._crash_at:
            raise Crash

    def _restart(self) -> None:
        self.generation += 1
        self._crash_at = None
        self._sync_failure_in = None
        self.locks.clear()

    def crash_process(self) -> None:
        self._restart()

    def crash_machine(self) -> None:
        self._restart()
        self._lose_names(self._root)

    def _lose_names(self, directory: DirNode) -> None:
        for change in self._survivors(directory.pending):
            apply_names(directory.durable, change)
        directory.seen = dict(directory.durable)
        directory.pending.clear()
        for node in list(directory.seen.values()):
            if isinstance(node, DirNode):
                self._lose_names(node)
            else:
                self._lose_data(node)

    def _lose_data(self, node: FileNode) -> None:
        for change in self._survivors(node.pending):
            for part in self._torn(change):
                apply_change(node.durable, part)
        node.seen = bytearray(node.durable)
        node.pending.clear()

    def _survivors(self, pending: list[T]) -> list[T]:
        fate = self.random.randrange(4)
        if fate == 0:
            return []
        if fate == 1:
            return list(pending)
        if fate == 2:
            return pending[: self.random.randrange(len(pending) + 1)]
        return [change for change in pending if self.random.randrange(2)]

    def _torn(self, change: Change) -> list[Change]:
        if change.data is None or self.random.randrange(3):
            return [change]
        cut = self.random.randrange(len(change.data) + 1)
        resume = self.random.randrange(cut, len(change.data) + 1)
        parts = [Change(change.position, change.data[:cut])]
        if self.random.randrange(2):
            parts.append(Change(change.position + resume, change.data[resume:]))
        return [part for part in parts if part.data]

    # The port

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> FakeFile:
        self.step()
        self._maybe_fail(path)
        directory, name = self._parent(path)
        node = directory.seen.get(name)
        if node is None:
            if not create:
                raise DiskError(path, "no such file")
            node = FileNode(modified_ms=self.now_ms)
            directory.change((name, node))
        if isinstance(node, DirNode):
            raise DiskError(path, "is a directory")
        return FakeFile(self, path, node)

    def map(self, path: str) -> memoryview:
        return memoryview(bytes(self._file(path).seen))

    def read(self, path: str) -> bytes | None:
        self.step()
        self._maybe_fail(path)
        node = self._find(path)
        return bytes(node.seen) if isinstance(node, FileNode) else None

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        file = self.open(path + ".tmp", create=True)
        file.truncate(0)
        if data:
            file.write_at(0, [data])
        if durable:
            file.sync()
        self.rename(path + ".tmp", path)
        if durable:
            self.sync_dir(path.rpartition("/")[0])

    def list_dir(self, path: str) -> list[tuple[str, int]]:
        self.step()
        self._maybe_fail(path)
        return sorted(
            (name, len(node.seen) if isinstance(node, FileNode) else -1)
            for name, node in self._directory(path).seen.items()
        )

    def size_of(self, path: str) -> int | None:
        self.step()
        node = self._find(path)
        return len(node.seen) if isinstance(node, FileNode) else None

    def space(self, path: str) -> tuple[int, int]:
        self.step()
        self._maybe_fail(path)
        return 1 << 40, 1 << 39

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: str, at_ms: int) -> None:
        self._file(path).modified_ms = at_ms

    def make_dirs(self, path: str) -> None:
        self.step()
        directory = self._root
        for name in _names(path):
            node = directory.seen.get(name)
            if node is None:
                node = DirNode()
                directory.change((name, node))
            if not isinstance(node, DirNode):
                raise DiskError(path, "not a directory")
            directory = node

    def rename(self, old: str, new: str) -> None:
        self.step()
        source, old_name = self._parent(old)
        target, new_name = self._parent(new)
        assert source is target, "nothing here moves between directories"
        node = source.seen.get(old_name)
        if node is None:
            raise DiskError(old, "no such file")
        if isinstance(node, DirNode) and new_name in source.seen:
            raise DiskError(new, "exists")
        source.change((old_name, None), (new_name, node))

    def remove(self, path: str) -> None:
        self.step()
        directory, name = self._parent(path)
        if isinstance(directory.seen.get(name), FileNode):
            directory.change((name, None))

    def remove_tree(self, path: str) -> None:
        self.step()
        directory, name = self._parent(path)
        if name in directory.seen:
            directory.change((name, None))

    def sync_dir(self, path: str) -> None:
        self.step()
        if self.takes_sync_failure():
            self._directory(path).pending.clear()
            raise DiskError(path, "the disk failed to write")
        self._directory(path).sync()

    def lock(self, path: str) -> FakeLock:
        self.open(path, create=True)
        if path in self.locks:
            raise DiskError(path, "locked by another process")
        self.locks.add(path)
        return FakeLock(self, path)

    def _maybe_fail(self, path: str) -> None:
        if self.fails is not None and self.fails(path):
            raise DiskError(path, "input/output error")

    def _find(self, path: str) -> Node | None:
        node: Node = self._root
        for name in _names(path):
            if not isinstance(node, DirNode) or name not in node.seen:
                return None
            node = node.seen[name]
        return node

    def _file(self, path: str) -> FileNode:
        self.step()
        node = self._find(path)
        if not isinstance(node, FileNode):
            raise DiskError(path, "no such file")
        return node

    def _directory(self, path: str) -> DirNode:
        node = self._find(path)
        if not isinstance(node, DirNode):
            raise DiskError(path, "no such directory")
        return node

    def _parent(self, path: str) -> tuple[DirNode, str]:
        parent, _, name = path.rpartition("/")
        return self._directory(parent), name


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]
