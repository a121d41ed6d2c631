"""What commits and compactions ask of the files they work on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileStatus:
    path: str
    size_bytes: int
    modified_at_ms: int
    is_directory: bool


class FileStore(Protocol):
    def exists(self, path: str) -> bool: ...

    def read_text(self, path: str) -> str | None: ...

    def write_text(self, path: str, text: str) -> None:
        """All of it or nothing."""

    def children(self, path: str) -> Sequence[FileStatus]: ...

    def glob(self, pattern: str) -> Sequence[FileStatus]: ...

    def move(self, source: str, target: str) -> None:
        """A source that is gone was moved before; its target may have been merged since."""

    def delete(self, path: str) -> None:
        """And all that is in it; nothing where there is nothing."""
