"""`kafka-storage info`: what is in a node's log directories, and what is wrong with them."""

from barnabas.storage.state import Condition, StorageState, StoredDirectory
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.wire.primitive import uuid_text


def describe_storage(state: StorageState) -> tuple[list[str], int]:
    """(lines, exit status): 1 if there is a problem."""
    absent = (Condition.ABSENT, Condition.NO_DIRECTORY)
    found = [one.path for one in state.directories if one.condition not in absent]
    problems = [line for one in state.directories for line in _problems(one)]
    problems += _disagreements(state)
    lines = []
    if found:
        lines += _section("Found log directory:", "Found log directories:", found)
    if state.formatted:
        lines += [f"Found metadata: {_metadata(state.formatted[0].meta)}", ""]
    if problems:
        lines += _section("Found problem:", "Found problems:", problems)
    return lines, 1 if problems else 0


def _section(one: str, several: str, entries: list[str]) -> list[str]:
    return [one if len(entries) == 1 else several, *(f"  {entry}" for entry in entries), ""]


def _problems(directory: StoredDirectory) -> list[str]:
    match directory.condition:
        case Condition.ABSENT:
            return [f"{directory.path} does not exist"]
        case Condition.NO_DIRECTORY:
            return [f"{directory.path} is not a directory"]
        case Condition.UNFORMATTED:
            return [f"{directory.path} is not formatted."]
        case Condition.UNREADABLE:
            where = f"{directory.path}/{META_PROPERTIES_FILE}"
            return [f"Error loading {where}: {directory.problem}"]
        case Condition.FORMATTED:
            return []


def _disagreements(state: StorageState) -> list[str]:
    """Directories that are not all of one node."""
    metas = [one.meta for one in state.formatted if one.meta is not None]
    problems = []
    for meta in metas[1:]:
        if meta.cluster_id != metas[0].cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif meta.node_id != metas[0].node_id:
            problems.append("Mismatched node IDs between storage directories.")
    return problems


def _metadata(meta: MetaProperties | None) -> str:
    assert meta is not None, "a formatted directory has them"
    shown = [f"cluster.id={meta.cluster_id}"]
    if meta.directory_id is not None:
        shown.append(f"directory.id={uuid_text(meta.directory_id)}")
    return "{" + ", ".join([*shown, f"node.id={meta.node_id}", "version=1"]) + "}"
