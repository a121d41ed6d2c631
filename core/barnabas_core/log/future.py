"""A partition's way from one log directory to another, as far as files and tables go.

A copy is begun in a directory with a name of its own (`-future`), outside of the tables that others
look into. When it has caught up it gets the partition's name: from then on two logs of that name
lie on the disk, and after a crash the one with more in it is taken (`LogManager`). Then it takes
the other's place in memory, and the other goes.
"""

from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.manager import LogManager
from barnabas_core.log.opening.load import create_partition
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import (
    DirectoryState,
    departing_directory,
    partition_directory,
)

_NAME_LENGTH_MAX = 255
_UNIQUE = bytes(16)


def can_have_future(topic: str, partition: int) -> bool:
    """A name that would have to be cut could not be told from another one's."""
    whole = f"{partition_directory(topic, partition)}.{_UNIQUE.hex()}{DirectoryState.FUTURE.value}"
    return len(whole) <= _NAME_LENGTH_MAX


def create_future(
    manager: LogManager, log: PartitionLog, target: LogDirectory, now_ms: int
) -> PartitionLog:
    """An empty copy of `log`, to be filled from its start on. Blocks."""
    environment = manager.environment
    target.forget_name(log.topic, log.partition)
    unique = environment.rng.randbytes(len(_UNIQUE))
    name = departing_directory(log.topic, log.partition, DirectoryState.FUTURE, unique)
    path = f"{target.path}/{name}"
    loaded = create_partition(
        environment.disk, path, log.topic, log.partition, log.topic_id, now_ms
    )
    future = PartitionLog(environment, loaded, log.config, now_ms)
    if log.log_start_offset > 0:
        future.truncate_fully_and_start_at(log.log_start_offset, now_ms)
    target.future_logs[log.topic, log.partition] = future
    return future


def give_name(manager: LogManager, future: PartitionLog, target: LogDirectory) -> None:
    """Call the copy as the partition is called, and make that durable. Blocks."""
    future.rename(f"{target.path}/{partition_directory(future.topic, future.partition)}")
    manager.environment.disk.sync_dir(target.path)


def take_place(manager: LogManager, future: PartitionLog, target: LogDirectory) -> PartitionLog:
    """The copy is the partition's log from now on; the one that was, to be retired."""
    key = future.topic, future.partition
    source = manager.directory_of(*key)
    assert source is not None, "it was looked up just now"
    assert source is not target, "it has another place to go to"
    old = source.logs.pop(key)
    del target.future_logs[key]
    target.logs[key] = future
    return old


def discard(manager: LogManager, future: PartitionLog, target: LogDirectory) -> None:
    """The copy is not wanted any more. Blocks."""
    target.future_logs.pop((future.topic, future.partition), None)
    if target.is_online and not future.is_offline:
        manager.retire(target, future)
