"""Which of a node's log directories are formatted, and for whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.ports.disk import Disk, DiskError
from barnabas_core.wire.primitive import uuid_text


class Condition(Enum):
    ABSENT = "absent"
    NO_DIRECTORY = "no directory"
    UNFORMATTED = "unformatted"
    """Without `meta.properties`, whatever else is in it: a format that was cut short."""
    FORMATTED = "formatted"
    UNREADABLE = "unreadable"
    """Its `meta.properties` cannot be read, or says what no node of ours can use."""


@dataclass(frozen=True, slots=True)
class StoredDirectory:
    path: str
    condition: Condition
    meta: MetaProperties | None = None
    problem: str = ""


class Mismatch(Exception):
    """Directories that belong to another cluster or node, or to each other."""


@dataclass(frozen=True, slots=True)
class StorageState:
    directories: tuple[StoredDirectory, ...]
    """By path, each once."""

    def of(self, *conditions: Condition) -> list[StoredDirectory]:
        return [one for one in self.directories if one.condition in conditions]

    @property
    def formatted(self) -> list[StoredDirectory]:
        return self.of(Condition.FORMATTED)

    @property
    def unformatted(self) -> list[StoredDirectory]:
        return self.of(Condition.ABSENT, Condition.UNFORMATTED)

    @property
    def unreadable(self) -> list[StoredDirectory]:
        return self.of(Condition.NO_DIRECTORY, Condition.UNREADABLE)

    def check(self, cluster_id: str, node_id: int) -> None:
        """`Mismatch` if a formatted directory is not this node's, or has another one's id."""
        owners: dict[bytes, str] = {}
        for one in self.formatted:
            assert one.meta is not None
            where = f"{one.path}/{META_PROPERTIES_FILE}"
            if one.meta.cluster_id != cluster_id:
                found = f"Expected {cluster_id}, but read {one.meta.cluster_id}"
                raise Mismatch(f"Invalid cluster.id in: {where}. {found}")
            if one.meta.node_id != node_id:
                raise Mismatch(
                    f"Stored node id {one.meta.node_id} doesn't match the node id {node_id} in "
                    f"{where}. If you moved your data, make sure your configured node id matches."
                )
            self._check_directory_id(owners, one.path, one.meta.directory_id)

    def _check_directory_id(
        self, owners: dict[bytes, str], path: str, directory_id: bytes | None
    ) -> None:
        if directory_id is None:
            return
        if directory_id in owners:
            shown = uuid_text(directory_id)
            raise Mismatch(
                f"Duplicate directory ID {shown} found. It was the ID of {owners[directory_id]}, "
                f"but also of {path}"
            )
        owners[directory_id] = path


def storage_state(disk: Disk, directories: Iterable[str]) -> StorageState:
    return StorageState(tuple(_look_at(disk, path) for path in sorted(set(directories))))


def _look_at(disk: Disk, path: str) -> StoredDirectory:
    try:
        disk.list_dir(path)
    except DiskError as error:
        if disk.size_of(path) is None:
            return StoredDirectory(path, Condition.ABSENT)
        return StoredDirectory(path, Condition.NO_DIRECTORY, problem=str(error))
    try:
        data = disk.read(f"{path}/{META_PROPERTIES_FILE}")
    except DiskError as error:
        return StoredDirectory(path, Condition.UNREADABLE, problem=str(error))
    if data is None:
        return StoredDirectory(path, Condition.UNFORMATTED)
    try:
        return StoredDirectory(path, Condition.FORMATTED, MetaProperties.decode(data))
    except CorruptFile as error:
        return StoredDirectory(path, Condition.UNREADABLE, problem=str(error))
