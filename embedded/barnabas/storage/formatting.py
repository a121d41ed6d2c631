"""Formatting: log directories become those of one node of one cluster.

Everything is decided before anything is written. In each directory `meta.properties` comes last and
makes it formatted: a format that is cut short leaves a directory that counts as unformatted and is
formatted anew. All of it is durable when `format_directories` returns.
"""

from dataclasses import dataclass
from enum import Enum

from barnabas.storage.state import StorageState, storage_state
from barnabas_core.log.directories.directory import new_directory_id
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.metadata.bootstrap import (
    BOOTSTRAP_FILE,
    FIRST_CHECKPOINT,
    METADATA_PARTITION,
    BootstrapMetadata,
)
from barnabas_core.ports.clock import Clock
from barnabas_core.ports.disk import Disk, DiskError
from barnabas_core.ports.rng import Rng
from barnabas_core.raft.checkpoint_file import build_checkpoint
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.voter import VoterSet

KRAFT_VERSION_WITH_VOTERS = 1
RESERVED_ID_COUNT = 100
"""Directory ids below this number have meanings of their own (none, lost, being moved)."""


class FormatRefused(Exception):
    """Nothing was written."""


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """What is to be formatted, for whom, with what."""

    cluster_id: str
    node_id: int
    directories: tuple[str, ...]
    metadata_directory: str
    bootstrap: BootstrapMetadata
    voters: VoterSet | None = None
    """The first voters, to be named in the log; None where a property names them, or where the
    node learns them from others."""
    ignore_formatted: bool = False


class DirectoryKind(Enum):
    """The values are the words of the tool's messages."""

    DATA = "data"
    METADATA = "metadata"
    DYNAMIC_METADATA = "dynamic metadata"
    DYNAMIC_METADATA_VOTER = "dynamic metadata voter"


@dataclass(frozen=True, slots=True)
class FormattedDirectory:
    path: str
    kind: DirectoryKind
    directory_id: bytes


@dataclass(frozen=True, slots=True)
class FormatResult:
    formatted: tuple[FormattedDirectory, ...]
    already_formatted: tuple[str, ...]
    unreadable: tuple[str, ...]


def format_directories(disk: Disk, rng: Rng, clock: Clock, spec: FormatSpec) -> FormatResult:
    """Format what is not yet. `FormatRefused` or `Mismatch` if that must not be; `DiskError`."""
    state = storage_state(disk, spec.directories)
    _check(spec, state)
    _check_metadata_log(disk, spec, state)
    planned = _plan(rng, spec, state)
    now_ms = clock.now_ms()
    for directory in planned:
        _write_contents(disk, spec, directory, now_ms)
    # The metadata directory's last of all: it is the one that says whether this node voted.
    for directory in sorted(planned, key=lambda one: one.path == spec.metadata_directory):
        meta = MetaProperties(spec.cluster_id, spec.node_id, directory.directory_id)
        disk.replace(f"{directory.path}/{META_PROPERTIES_FILE}", meta.encode(now_ms))
    return FormatResult(
        planned,
        tuple(one.path for one in state.formatted),
        tuple(one.path for one in state.unreadable),
    )


def _check(spec: FormatSpec, state: StorageState) -> None:
    if spec.metadata_directory not in spec.directories:
        raise FormatRefused(
            f"The specified metadata log directory, {spec.metadata_directory} was not one of the "
            f"given directories: {', '.join(spec.directories)}"
        )
    state.check(spec.cluster_id, spec.node_id)
    if state.formatted and not spec.ignore_formatted:
        raise FormatRefused(
            f"Log directory {state.formatted[0].path} is already formatted. Use --ignore-formatted "
            "to ignore this directory and format the others."
        )
    if len(state.unreadable) == len(state.directories):
        problems = "; ".join(f"{one.path}: {one.problem}" for one in state.unreadable)
        raise FormatRefused(f"No available log directories to format. {problems}")


def _check_metadata_log(disk: Disk, spec: FormatSpec, state: StorageState) -> None:
    """A log that has been in use keeps its voters, even where `meta.properties` was lost."""
    fresh = [one.path for one in state.unformatted]
    if spec.voters is None or spec.metadata_directory not in fresh:
        return
    if _has_log(disk, spec.metadata_directory):
        raise FormatRefused(
            f"{spec.metadata_directory} is not formatted, but holds a metadata log, whose voters "
            "must not be replaced. Use --no-initial-controllers to keep it, or remove it."
        )


def _has_log(disk: Disk, directory: str) -> bool:
    try:
        names = disk.list_dir(f"{directory}/{METADATA_PARTITION}")
    except DiskError:
        return False
    return any(name.endswith(".log") for name, _ in names)


def _plan(rng: Rng, spec: FormatSpec, state: StorageState) -> tuple[FormattedDirectory, ...]:
    taken = [one.meta.directory_id for one in state.formatted if one.meta is not None]
    planned = []
    for one in state.unformatted:
        kind = _kind(spec, one.path)
        if kind is DirectoryKind.DYNAMIC_METADATA_VOTER:
            directory_id = _own_directory_id(spec)
            if directory_id in taken:
                raise FormatRefused("the directory id of the voter is that of a log directory")
        else:
            directory_id = _new_id(rng, taken)
        taken.append(directory_id)
        planned.append(FormattedDirectory(one.path, kind, directory_id))
    return tuple(planned)


def _kind(spec: FormatSpec, path: str) -> DirectoryKind:
    if path != spec.metadata_directory:
        return DirectoryKind.DATA
    if spec.voters is None:
        return DirectoryKind.METADATA
    if spec.voters.get(NodeId(spec.node_id)) is None:
        return DirectoryKind.DYNAMIC_METADATA
    return DirectoryKind.DYNAMIC_METADATA_VOTER


def _own_directory_id(spec: FormatSpec) -> bytes:
    voter = spec.voters.get(NodeId(spec.node_id)) if spec.voters is not None else None
    assert voter is not None, "only a voter's directory has the id that the voters give it"
    return voter.key.directory_id


def _new_id(rng: Rng, taken: list[bytes | None]) -> bytes:
    while True:
        directory_id = new_directory_id(rng)
        if directory_id not in taken and int.from_bytes(directory_id) >= RESERVED_ID_COUNT:
            return directory_id


def _write_contents(
    disk: Disk, spec: FormatSpec, directory: FormattedDirectory, now_ms: int
) -> None:
    _make_durable(disk, directory.path)
    disk.replace(f"{directory.path}/{BOOTSTRAP_FILE}", spec.bootstrap.encode(now_ms))
    if directory.path != spec.metadata_directory:
        return
    first = f"{directory.path}/{FIRST_CHECKPOINT}"
    if spec.voters is None:
        # Of a format with voters that was cut short; a log in use may need its own.
        if disk.size_of(first) is not None and not _has_log(disk, directory.path):
            disk.remove(first)
            disk.sync_dir(f"{directory.path}/{METADATA_PARTITION}")
        return
    _make_durable(disk, f"{directory.path}/{METADATA_PARTITION}")
    snapshot = build_checkpoint(
        (),
        last_appended_at_ms=now_ms,
        timestamp_ms=now_ms,
        kraft_version=KRAFT_VERSION_WITH_VOTERS,
        voters=spec.voters,
    )
    disk.replace(first, b"".join(snapshot))


def _make_durable(disk: Disk, path: str) -> None:
    """Make a directory, and all above it that are missing, so that their names last."""
    missing = []
    above = path
    while above and not _is_directory(disk, above):
        missing.append(above)
        above = above.rstrip("/").rpartition("/")[0]
    disk.make_dirs(path)
    for made in reversed(missing):
        disk.sync_dir(made.rstrip("/").rpartition("/")[0] or _root(made))


def _root(path: str) -> str:
    return "/" if path.startswith("/") else ""


def _is_directory(disk: Disk, path: str) -> bool:
    try:
        disk.list_dir(path)
    except DiskError:
        return False
    return True
