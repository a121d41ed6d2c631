"""A node's directories as formatting left them: whose they are, and which of them are of use.

A node needs one directory that can be read and was formatted; from it the others are known. One
that cannot be read is left out: a broker serves from those that are left. One that is new, beside
others that are formatted, is made this node's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory import ForeignDirectory, new_directory_id
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.log.error import LogError
from barnabas_core.ports import Clock, Disk, DiskError, Rng
from barnabas_core.wire.primitive import uuid_text


class NotFormatted(LogError):
    """Nothing says to which cluster the node belongs."""


@dataclass(frozen=True, slots=True)
class NodeDirectories:
    cluster_id: str
    metas: Mapping[str, MetaProperties]
    """By path, each with a directory id."""
    problems: Mapping[str, str]
    """By path: why the directory cannot be used."""


def open_directories(
    disk: Disk, rng: Rng, clock: Clock, paths: Iterable[str], node_id: int
) -> NodeDirectories:
    """`NotFormatted`, or `ForeignDirectory` if one of them belongs to somebody else."""
    found: dict[str, MetaProperties | None] = {}
    problems: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        try:
            found[path] = _read(disk, path)
        except DiskError as error:
            problems[path] = str(error)
        except CorruptFile as error:
            problems[path] = f"{path}/{META_PROPERTIES_FILE}: {error}"
    cluster_id = _cluster_id(found, problems)
    metas = {}
    for path, meta in found.items():
        try:
            metas[path] = _complete(
                disk, path, meta or MetaProperties(cluster_id, node_id), rng, clock
            )
        except DiskError as error:
            problems[path] = str(error)
    _check_owner(metas, cluster_id, node_id)
    return NodeDirectories(cluster_id, metas, problems)


def _read(disk: Disk, path: str) -> MetaProperties | None:
    if disk.size_of(path) is not None:
        disk.list_dir(path)  # a directory, and one that can be read
    data = disk.read(f"{path}/{META_PROPERTIES_FILE}")
    return None if data is None else MetaProperties.decode(data)


def _cluster_id(found: Mapping[str, MetaProperties | None], problems: Mapping[str, str]) -> str:
    for meta in found.values():
        if meta is not None:
            return meta.cluster_id
    if not found:
        raise NotFormatted(f"no log directory can be used: {'; '.join(problems.values())}")
    raise NotFormatted(
        f"no {META_PROPERTIES_FILE} in {', '.join(found)}: "
        "format the directory with `kafka-storage format` first"
    )


def _complete(
    disk: Disk, path: str, meta: MetaProperties, rng: Rng, clock: Clock
) -> MetaProperties:
    """Give it an id if it has none: it is new, or was formatted before there were ids."""
    if meta.directory_id is not None:
        return meta
    disk.make_dirs(path)
    complete = MetaProperties(meta.cluster_id, meta.node_id, new_directory_id(rng))
    disk.replace(f"{path}/{META_PROPERTIES_FILE}", complete.encode(clock.now_ms()))
    return complete


def _check_owner(metas: Mapping[str, MetaProperties], cluster_id: str, node_id: int) -> None:
    owners: dict[bytes | None, str] = {}
    for path, meta in metas.items():
        if (meta.cluster_id, meta.node_id) != (cluster_id, node_id):
            raise ForeignDirectory(
                f"{path} belongs to node {meta.node_id} of cluster {meta.cluster_id}, "
                f"not to node {node_id} of cluster {cluster_id}"
            )
        first = owners.setdefault(meta.directory_id, path)
        if first != path:
            shown = uuid_text(meta.directory_id or b"")
            raise ForeignDirectory(f"{first} and {path} have the same directory.id {shown}")
