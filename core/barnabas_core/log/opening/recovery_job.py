"""Recovery as a job for a worker process: what goes in and comes out, as text.

In: a list of `RecoveryTask`s as JSON, in a file, because a command line holds 128 KiB and a
directory may have thousands of partitions. Out: one line of JSON, the sums of what was found, or
the file on which the disk failed.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.recovery import RecoverySettings, recover_partition
from barnabas_core.ports import Disk, DiskError

WORKER_MODULE = "barnabas_core.runtime.worker"
JOB_FILE = "recovery.job"


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """One partition's directory."""

    dir_path: str
    settings: RecoverySettings
    index_interval_bytes: int
    is_compacted: bool

    @classmethod
    def of(cls, dir_path: str, config: LogConfig, settings: RecoverySettings) -> "RecoveryTask":
        return cls(dir_path, settings, config.index_interval_bytes, config.cleanup_compact)


@dataclass(slots=True)
class RecoveryReport:
    partition_count: int = 0
    scanned_bytes: int = 0
    truncated_bytes: int = 0


def write_tasks(disk: Disk, path: str, tasks: Iterable[RecoveryTask]) -> None:
    data = json.dumps([asdict(task) for task in tasks]).encode()
    disk.replace(path, data, durable=False)


def run_recovery(disk: Disk, path: str) -> str:
    """Recover every partition in the file at `path`."""
    data = disk.read(path)
    assert data is not None, path
    report = RecoveryReport()
    try:
        for fields in json.loads(data):
            settings = RecoverySettings(**fields.pop("settings"))
            _recover(disk, RecoveryTask(settings=settings, **fields), report)
    except DiskError as error:
        return json.dumps({"failed": error.path, "reason": str(error)})
    return json.dumps(asdict(report))


def _recover(disk: Disk, task: RecoveryTask, report: RecoveryReport) -> None:
    config = LogConfig(
        index_interval_bytes=task.index_interval_bytes, cleanup_compact=task.is_compacted
    )
    found = recover_partition(disk, task.dir_path, config, task.settings)
    report.partition_count += 1
    report.scanned_bytes += found.scanned_bytes
    report.truncated_bytes += found.truncated_bytes


def decode_report(output: bytes) -> RecoveryReport:
    """Raises the `DiskError` that the worker met."""
    fields = json.loads(output)
    if "failed" in fields:
        raise DiskError(fields["failed"], fields["reason"])
    return RecoveryReport(**fields)
