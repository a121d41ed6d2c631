"""A cleaning as a job for a worker process: what goes in and comes out, as text and files.

In: a `CleanTask` as JSON on the command line, and two files next to the segments, because a command
line holds 128 KiB and a log may have many producers: a producer snapshot, and the aborted
transactions that only the broker knows (their markers are in a segment whose index is not written
yet). The files are named `.cleaned` like the output, so that whatever ends the job early, the next
start of the broker removes them.

Out: `CleanResult` as one line of JSON, or the reason why the log cannot be cleaned.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict

from barnabas_core.log.cleaner.batch_cleaner import CleanerStats, LastBatch
from barnabas_core.log.cleaner.clean import CleanedGroup, Cleaner, CleanResult, CleanTask
from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.index.transaction_index import (
    AbortedTransaction,
    decode_aborted,
    encode_aborted,
)
from barnabas_core.log.producers.producer_entry import unpack_entries
from barnabas_core.log.producers.producer_snapshot import decode_snapshot
from barnabas_core.log.segments.file_name import (
    CLEANED,
    PRODUCER_SNAPSHOT,
    TRANSACTION_INDEX,
    file_name,
)
from barnabas_core.ports import Disk

_PRODUCERS_SUFFIX = f"{PRODUCER_SNAPSHOT}.job{CLEANED}"
_ABORTED_SUFFIX = f"{TRANSACTION_INDEX}.job{CLEANED}"


def write_inputs(
    disk: Disk, task: CleanTask, snapshot: bytes, aborted: Iterable[AbortedTransaction]
) -> None:
    """Blocking. `snapshot` is a producer snapshot file of the log as it is now."""
    disk.replace(_path(task, _PRODUCERS_SUFFIX), snapshot, durable=False)
    entries = b"".join([encode_aborted(it) for it in aborted])
    disk.replace(_path(task, _ABORTED_SUFFIX), entries, durable=False)


def run_clean(disk: Disk, task: CleanTask, throttle: Throttle) -> CleanResult:
    producers = _read_producers(disk, task)
    aborted = decode_aborted(disk.read(_path(task, _ABORTED_SUFFIX)) or b"")
    return Cleaner(disk, task, throttle, producers, aborted).run()


def _read_producers(disk: Disk, task: CleanTask) -> dict[int, LastBatch]:
    snapshot = disk.read(_path(task, _PRODUCERS_SUFFIX))
    if snapshot is None:
        return {}
    entries = unpack_entries(decode_snapshot(snapshot))
    return {it.producer_id: LastBatch(it.last_offset, it.epoch) for it in entries}


def _path(task: CleanTask, suffix: str) -> str:
    return f"{task.dir_path}/{file_name(task.first_dirty_offset, suffix)}"


def encode_task(task: CleanTask) -> str:
    return json.dumps(asdict(task))


def decode_task(text: str) -> CleanTask:
    return CleanTask(**json.loads(text))


def encode_result(result: CleanResult) -> str:
    return json.dumps(asdict(result))


def encode_failure(error: UncleanableLog) -> str:
    return json.dumps({"uncleanable": str(error)})


def decode_result(output: bytes) -> CleanResult:
    """Raises the `UncleanableLog` that the worker met."""
    fields = json.loads(output)
    if "uncleanable" in fields:
        raise UncleanableLog(fields["uncleanable"])
    groups = tuple(
        CleanedGroup(**{**it, "replaced": tuple(map(tuple, it["replaced"]))})
        for it in fields["groups"]
    )
    return CleanResult(groups, fields["clean_up_to"], CleanerStats(**fields["stats"]))
