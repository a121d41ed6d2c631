"""What all logs of one broker share."""

from dataclasses import dataclass, field

from barnabas_core.log.segments.file_cache import FILE_COUNT_MAX, FileCache
from barnabas_core.log.segments.tail_cache import TailCache
from barnabas_core.ports import Disk, Rng

PRODUCER_EXPIRATION_MS = 24 * 60 * 60 * 1000


@dataclass(slots=True)
class LogEnvironment:
    disk: Disk
    rng: Rng
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    """`producer.id.expiration.ms`"""
    file_count_max: int = FILE_COUNT_MAX
    """Open files kept at a time; readers may hold a few more."""
    files: FileCache = field(init=False)
    tails: TailCache = field(default_factory=TailCache)

    def __post_init__(self) -> None:
        self.files = FileCache(self.disk, file_count_max=self.file_count_max)
