"""Open files and mapped indexes of one broker, bounded: ten thousand partitions share them.

Least recently used goes first. A file that leaves the cache is not closed here: whoever still reads
from it holds a reference, and the last reference closes it. So a segment that is deleted or renamed
can be read to the end by those who began.

Names are the keys: whoever renames, truncates or replaces a file calls `drop` first. A reader in a
thread may use the cache at the same time as the event loop: each step is one operation on one dict.
"""

from collections import OrderedDict
from contextlib import suppress

from barnabas_core.ports import Disk, File, TooManyOpenFiles

# Half of what a process may open where nobody raised the limit; sockets need the rest.
FILE_COUNT_MAX = 500
VIEW_COUNT_MAX = 1000


class FileCache:
    __slots__ = ("_disk", "_file_count_max", "_files", "_view_count_max", "_views")

    def __init__(
        self,
        disk: Disk,
        *,
        file_count_max: int = FILE_COUNT_MAX,
        view_count_max: int = VIEW_COUNT_MAX,
    ) -> None:
        self._disk = disk
        self._file_count_max = file_count_max
        self._view_count_max = view_count_max
        self._files: OrderedDict[str, File] = OrderedDict()
        self._views: OrderedDict[str, memoryview] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def file(self, path: str) -> File:
        """An open file that exists."""
        file = self._files.get(path)
        if file is None:
            file = self._open(path)
            self.put(path, file)
            return file
        with suppress(KeyError):  # dropped meanwhile by the other side: this one is still good
            self._files.move_to_end(path)
        return file

    def _open(self, path: str) -> File:
        try:
            return self._disk.open(path)
        except TooManyOpenFiles:
            self._files.clear()
            return self._disk.open(path)

    def put(self, path: str, file: File) -> None:
        self._files[path] = file
        while len(self._files) > self._file_count_max:
            self._files.popitem(last=False)

    def view(self, path: str) -> memoryview:
        """The bytes of a file that no longer changes."""
        view = self._views.get(path)
        if view is None:
            view = self._views[path] = self._map(path)
            while len(self._views) > self._view_count_max:
                self._views.popitem(last=False)
            return view
        with suppress(KeyError):
            self._views.move_to_end(path)
        return view

    def _map(self, path: str) -> memoryview:
        try:
            return self._disk.map(path)
        except TooManyOpenFiles:
            self._files.clear()
            return self._disk.map(path)

    def drop(self, path: str) -> None:
        """Forget what is cached under a name that is about to mean something else."""
        self._files.pop(path, None)
        self._views.pop(path, None)
