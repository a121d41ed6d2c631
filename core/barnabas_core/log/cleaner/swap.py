"""A rewritten segment takes the place of those it was made of, whatever crashes meanwhile.

The steps for one group, as data. Names end in what has happened so far:

1. `B.index.cleaned` ... are complete and synced: the worker did that. Nothing refers to them yet.
2. `.cleaned` becomes `.swap`, the `.log` last. *Committed*, once the directory is synced.
3. The old `.log` files become `.deleted`, for those who still read them; the rest of the old
   segments goes. Synced.
4. `.swap` becomes the final name, the `.log` last. Synced.

The groups of a log are swapped in one after the other, in offset order: so a tombstone never goes
before the values that it deletes.

After a crash `plan_swap_recovery` tells from the names alone where it happened. A `.cleaned` file
is no part of the log. A `.swap` is invalid while a `.cleaned` of the same or a lower base is there
(step 2 was under way, the old files are all there). A valid `.log.swap` supersedes every segment
that starts in its offset range; it is renamed last, so the range is known as long as it is needed.
Every rewritten segment ends with the last offset of the last old one (kept as an empty batch if
need be), so the range covers them all. A rewritten segment always has all four files, so a file
without `.swap` next to a `.log.swap` of the same base was renamed already.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from barnabas_core.log.segments.file_name import (
    CLEANED,
    DELETED,
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
    parse_file_name,
)
from barnabas_core.ports import Disk

RENAMED_SUFFIXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, LOG)
"""A segment's files in the order in which they are renamed: the one that decides comes last."""


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Remove:
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """What came before is on disk before what comes next."""


Step: TypeAlias = Rename | Remove | Sync


def run_steps(disk: Disk, dir_path: str, steps: Iterable[Step]) -> None:
    """Blocking, and short: a few renames and one or two directory syncs."""
    for step in steps:
        match step:
            case Rename(old, new):
                disk.rename(f"{dir_path}/{old}", f"{dir_path}/{new}")
            case Remove(name):
                disk.remove(f"{dir_path}/{name}")
            case Sync():
                disk.sync_dir(dir_path)


def plan_commit(base_offset: int) -> list[Step]:
    """Step 2: from here on a crash ends with the rewritten segment in place."""
    return [*_rename_all(base_offset, CLEANED, SWAP), Sync()]


def plan_retire(base_offset: int, old_files: Iterable[str]) -> list[Step]:
    """Step 3; `old_files` are those of the superseded segments that exist."""
    steps: list[Step] = []
    for name in old_files:
        if name.endswith(LOG):
            steps.append(Rename(name, name + DELETED))
        elif not name.endswith(PRODUCER_SNAPSHOT) or _base_of(name) != base_offset:
            # A snapshot belongs to the start of a segment; where none starts now, none is used.
            steps.append(Remove(name))
    return [*steps, Sync()]


def plan_finish(base_offset: int) -> list[Step]:
    """Step 4."""
    return [*_rename_all(base_offset, SWAP, ""), Sync()]


def _rename_all(base_offset: int, old: str, new: str) -> list[Rename]:
    names = [file_name(base_offset, suffix) for suffix in RENAMED_SUFFIXES]
    return [Rename(name + old, name + new) for name in names]


def plan_swap_recovery(names: Sequence[str], next_offset_of: Callable[[str], int]) -> list[Step]:
    """What to do with the files of a crash, before any segment is opened.

    `names` is the partition's directory. `next_offset_of` is asked for the end offset of each valid
    `.log.swap` (its last batch's, which is never absent). The steps may themselves be cut off at
    any point and planned again.
    """
    invalid, valid = _sort_swaps(names)
    steps: list[Step] = []
    if invalid:
        # Gone before the `.cleaned` files that prove them invalid.
        steps += [*map(Remove, invalid), Sync()]
    steps += [Remove(name) for name in names if name.endswith((CLEANED, DELETED))]
    for _base, group in groupby(sorted(valid), key=_base_of):
        steps += _plan_completion(names, list(group), next_offset_of)
    return steps


def _sort_swaps(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """(invalid, valid) `.swap` files."""
    cleaned = [it for it in names if it.endswith(CLEANED) and _is_segment_file(it, CLEANED)]
    swaps = [it for it in names if it.endswith(SWAP) and _is_segment_file(it, SWAP)]
    if not cleaned:
        return [], swaps
    cleaned_from = min(map(_base_of, cleaned))
    invalid = [it for it in swaps if _base_of(it) >= cleaned_from]
    return invalid, [it for it in swaps if _base_of(it) < cleaned_from]


def _plan_completion(
    names: Sequence[str], swaps: Sequence[str], next_offset_of: Callable[[str], int]
) -> list[Step]:
    """Steps 3 and 4 again for one base, without `.deleted`: nobody reads yet."""
    base = _base_of(swaps[0])
    log_swap = file_name(base, LOG) + SWAP
    steps: list[Step] = []
    if log_swap in swaps:
        end = next_offset_of(log_swap)
        old = [it for it in names if _is_segment_file(it) or it.endswith(PRODUCER_SNAPSHOT)]
        steps += [Remove(it) for it in old if base < _base_of(it) < end]
        steps.append(Sync())
    return [*steps, *(it for it in _rename_all(base, SWAP, "") if it.old in swaps), Sync()]


def _is_segment_file(name: str, state: str = "") -> bool:
    parsed = parse_file_name(name.removesuffix(state))
    return parsed is not None and parsed[1] in RENAMED_SUFFIXES


def _base_of(name: str) -> int:
    parsed = parse_file_name(name)
    assert parsed is not None, name
    return parsed[0]
