"""What is staged and not yet written, and the job that writes it.

`stage` fills `WriteGroup`s, one per file; `begin_write` takes them all as one `PendingWrite`; its
`run` does the blocking part, in whatever thread; `finish_write` makes the result visible. A roll
puts two things into the old segment's group: its index files, once its last bytes are written, and
into the new one's: the file's creation and the producer snapshot that belongs to its base offset.
"""

from dataclasses import dataclass, field

from barnabas_core.log.segments.file_name import (
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
)
from barnabas_core.log.segments.segment import Segment
from barnabas_core.ports import Buffer, Disk, File

Append = tuple[int, int, Buffer]
"""(first offset, next offset, bytes) of what one `stage` call took."""


@dataclass(slots=True)
class WriteGroup:
    """Bytes for one segment, one after the other from `position` on."""

    segment: Segment
    position: int
    appends: list[Append] = field(default_factory=list)
    size_bytes: int = 0
    file: File | None = None
    """None as long as it is to be created."""
    creates_file: bool = False
    snapshot: bytes | None = None
    is_sealed: bool = False
    """The segment ends with this group."""

    @property
    def index_bytes(self) -> int:
        """How much sealing writes."""
        active = self.segment.active
        return active.size_bytes if self.is_sealed and active is not None else 0

    def run(self, disk: Disk) -> None:
        if self.creates_file:
            self.file = disk.open(self.segment.path(LOG), create=True)
            # A file of that name may be left from before a truncation.
            self.file.truncate(0)
        if self.appends:
            assert self.file is not None
            self.file.write_at(self.position, [append[2] for append in self.appends])
        if self.snapshot is not None:
            write_whole(disk, self.segment.path(PRODUCER_SNAPSHOT), self.snapshot)
        if self.is_sealed:
            write_indexes(disk, self.segment)


@dataclass(slots=True)
class PendingWrite:
    """Everything staged so far. Only one is under way per log."""

    disk: Disk
    groups: list[WriteGroup]
    end_offset: int

    @property
    def size_bytes(self) -> int:
        """How much `run` writes, by which its owner decides where it runs."""
        return sum([group.size_bytes + group.index_bytes for group in self.groups])

    def run(self) -> None:
        """The blocking part: thread-safe, and `DiskError` means that the directory is lost."""
        for group in self.groups:
            group.run(self.disk)


def write_indexes(disk: Disk, segment: Segment) -> None:
    """The index files of a segment that is complete, or of the active one at closing time."""
    assert segment.active is not None
    offsets, times, aborted = segment.active.encode()
    write_whole(disk, segment.path(OFFSET_INDEX), offsets)
    write_whole(disk, segment.path(TIME_INDEX), times)
    if aborted:
        write_whole(disk, segment.path(TRANSACTION_INDEX), aborted)
    else:
        disk.remove(segment.path(TRANSACTION_INDEX))


def write_whole(disk: Disk, path: str, data: bytes) -> None:
    """Write a file anew; it becomes durable with the next flush.

    Never over the old one: somebody may have that mapped, and must not be left with fewer pages.
    """
    disk.remove(path)
    file = disk.open(path, create=True)
    if data:
        file.write_at(0, [data])
    file.close()
