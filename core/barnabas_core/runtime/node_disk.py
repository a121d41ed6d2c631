"""The disk of a process whose roles may share directories: each lock is taken once, beforehand.

Whoever asks for a lock that the process holds already gets it; it is given back at the end, when
the last role has stopped.
"""

from barnabas_core.log.segments.file_name import LOCK_FILE
from barnabas_core.ports.disk import DirLock
from barnabas_core.runtime.disk import RealDisk


class NodeDisk(RealDisk):
    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, DirLock] = {}

    def hold(self, directory: str) -> None:
        """`Locked` if another process holds it."""
        path = f"{directory}/{LOCK_FILE}"
        if path not in self._held:
            self._held[path] = super().lock(path)

    def lock(self, path: str) -> DirLock:
        return _SharedLock() if path in self._held else super().lock(path)

    def release(self) -> None:
        while self._held:
            _, lock = self._held.popitem()
            lock.release()


class _SharedLock:
    def release(self) -> None:
        """Held until the process is done with the directory."""
