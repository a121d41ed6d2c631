"""What opening a partition's directory finds out, for `PartitionLog` to start from."""

from dataclasses import dataclass, field

from barnabas_core.log.segments.segment import Segment


@dataclass(slots=True)
class LoadedLog:
    topic: str
    partition: int
    topic_id: bytes
    dir_path: str
    segments: list[Segment]
    log_end_offset: int
    snapshot_offsets: list[int] = field(default_factory=list)
    has_producers: bool = False
    """Whether there is any producer state to load; if not, it starts empty."""
    log_start_offset: int = 0
    recovery_point: int = 0
    high_watermark: int = 0
    has_new_names: bool = False
    """Files were made whose names are not durable yet."""
    is_new: bool = False
    """The same holds for the directory itself."""
