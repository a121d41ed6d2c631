"""What a controller's directory holds, read from its files while nobody writes them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch, parse_batches
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.record import decode_record
from barnabas_core.wire.schema import Message


def batches(directory: Path) -> Iterator[CommittedBatch]:
    """Of the log, which must be whole and without gaps."""
    end_offset = None
    for segment in sorted(directory.glob("*.log")):
        for batch in parse_batches(segment.read_bytes()):
            assert end_offset in (None, batch.base_offset), f"a gap at {end_offset} in {segment}"
            end_offset = batch.end_offset
            yield batch


def log_records(directory: Path) -> list[Message]:
    """Every metadata record in the segments of `__cluster_metadata-0`, in order."""
    return [decode_record(value) for batch in batches(directory) for value in batch.values]


def log_values(directory: Path) -> dict[int, tuple[int, list[bytes]]]:
    """Epoch and bytes of each batch by its offset: what must be the same on all nodes."""
    return {
        batch.base_offset: (batch.epoch, [bytes(value) for value in batch.values])
        for batch in batches(directory)
    }


def check_same_logs(directories: Sequence[Path]) -> None:
    """What two nodes have at an offset is the same."""
    first, *others = [log_values(directory) for directory in directories]
    for other in others:
        assert all(first[offset] == batch for offset, batch in other.items() if offset in first)


def checkpoints(directory: Path) -> list[Path]:
    """Oldest first."""
    return sorted(directory.glob("*.checkpoint"))


def checkpoint_image(path: Path) -> Image:
    delta = Delta(EMPTY_IMAGE)
    for batch in parse_batches(path.read_bytes()):
        for value in batch.values:
            delta.replay(decode_record(value))
    offset, epoch = path.stem.split("-")
    return delta.apply(Provenance(int(offset) - 1, int(epoch), 0))
