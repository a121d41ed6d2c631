"""Deleting files for good: a job for a thread, since freeing a large file takes its time."""

from dataclasses import dataclass, field

from barnabas_core.ports import Disk


@dataclass(slots=True)
class ReapJob:
    """What is due; `run` blocks and is thread-safe. What a crash leaves, the next start removes."""

    disk: Disk
    files: list[str]
    directories: list[str] = field(default_factory=list)

    def run(self) -> None:
        for path in self.directories:
            self.disk.remove_tree(path)
        for path in self.files:
            self.disk.remove(path)
