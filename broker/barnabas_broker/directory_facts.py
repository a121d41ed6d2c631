"""What a broker's directories tell before they are opened: their ids, and how it left them.

The epoch of the last clean shutdown (KIP-966) counts only if every directory has it: one that is
lost, or was not closed in order, may be without records that the broker had acknowledged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES_FILE,
    NO_BROKER_EPOCH,
    MetaProperties,
    decode_clean_shutdown,
)
from barnabas_core.ports import Disk, DiskError


class DirectoryFacts(NamedTuple):
    ids: list[bytes]
    """As formatting named them; one that cannot be read will be offline."""
    previous_broker_epoch: int = NO_BROKER_EPOCH


def read_directory_facts(disk: Disk, paths: Sequence[str]) -> DirectoryFacts:
    found = [_read(disk, path) for path in paths]
    ids = [directory_id for directory_id, _ in found if directory_id is not None]
    epochs = {epoch for _, epoch in found}
    return DirectoryFacts(ids, epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH)


def _read(disk: Disk, path: str) -> tuple[bytes | None, int]:
    try:
        data = disk.read(f"{path}/{META_PROPERTIES_FILE}")
        if data is None:
            return None, NO_BROKER_EPOCH
        left = disk.read(f"{path}/{CLEAN_SHUTDOWN_FILE}")
        epoch = NO_BROKER_EPOCH if left is None else decode_clean_shutdown(left)
        return MetaProperties.decode(data).directory_id, epoch
    except (DiskError, CorruptFile):
        return None, NO_BROKER_EPOCH
