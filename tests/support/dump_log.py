"""Kafka's own dump tool as a judge of log directories.

The tool exits with 0 even on rubbish and complains in prose, on both of its outputs, so this
collects its complaints. It is run twice: the sanity check of an index replaces looking every entry
up in the log, and either finds what the other does not.
"""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.external import JavaRuntime

MAIN_CLASS = "org.apache.kafka.tools.DumpLogSegments"
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
COMPLAINT = re.compile(r"found|mismatch|invalid|isvalid: false|exception|not dumped", re.IGNORECASE)
BATCH = re.compile(r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) count: (?P<count>\d+) .*")
RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<kind>CreateTime|LogAppendTime): (?P<timestamp>-?\d+) .*?"
    r"(?: key: (?P<key>.*?))?(?: payload: (?P<payload>.*))?"
)
NOT_CONSECUTIVE = re.compile(r"  (-?\d+) is followed by (\d+)")


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    offset: int
    timestamp_ms: int
    key: str | None
    value: str | None
    line: str
    """All that the tool says of it: sequence, headers, what a control record means."""


@dataclass(slots=True)
class Dump:
    batches: list[str] = field(default_factory=list)
    records: list[DumpedRecord] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What it says of indexes and snapshots, and its headings."""
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """Neighbours that are not consecutive: legitimate in a compacted log only."""
    complaints: list[str] = field(default_factory=list)

    @property
    def record_count(self) -> int:
        return sum(int(batch_field(batch, "count")) for batch in self.batches)


def batch_field(line: str, name: str) -> str:
    """`lz4` of `... compresscodec: lz4 ...`."""
    match = re.search(rf"\b{name}: (\S+)", line)
    assert match is not None, f"no {name} in: {line}"
    return match[1]


def dump_files(
    java: JavaRuntime, files: list[Path], *options: str, print_data: bool = True
) -> Dump:
    """`print_data` is for keys and values that are text of one line."""
    names = ",".join(str(file) for file in files)
    options += ("--deep-iteration", *(["--print-data-log"] if print_data else []))
    command = java.command(MAIN_CLASS, *options)
    done = subprocess.run(
        [*command, "--files", names], capture_output=True, text=True, check=False, timeout=120
    )
    dump = Dump()
    for line in done.stdout.splitlines():
        _read_output(dump, line)
    for line in done.stderr.splitlines():
        _read_error(dump, line)
    if done.returncode != 0:
        dump.complaints.append(f"exit status {done.returncode}")
    return dump


def _read_output(dump: Dump, line: str) -> None:
    record = RECORD.fullmatch(line)
    if record:
        offset, timestamp = int(record["offset"]), int(record["timestamp"])
        dump.records.append(DumpedRecord(offset, timestamp, record["key"], record["payload"], line))
        return
    if COMPLAINT.search(line):
        dump.complaints.append(line)
    (dump.batches if BATCH.fullmatch(line) else dump.lines).append(line)


def _read_error(dump: Dump, line: str) -> None:
    if not line or line.startswith("WARNING: "):
        return  # a newer Java on Kafka's jars, not the tool on our files
    gap = NOT_CONSECUTIVE.fullmatch(line)
    if gap is None and not line.startswith("Non-consecutive offsets in "):
        dump.complaints.append(line)
    # The tool takes every file that does not begin at offset 0 for one with a gap after -1.
    if gap and gap[1] != "-1":
        dump.gaps.append((int(gap[1]), int(gap[2])))


def dump_directory(java: JavaRuntime, directory: Path) -> Dump:
    """The dump of every segment in order, with the complaints of both runs."""
    files = [path for path in sorted(directory.iterdir()) if path.suffix in SUFFIXES]
    assert any(path.suffix == ".log" for path in files), f"no segment in {directory}"
    checked = dump_files(java, files, "--index-sanity-check")
    looked_up = dump_files(java, files)
    for index in (path for path in files if path.suffix in {".index", ".timeindex"}):
        # An index without a single entry has nothing that could be checked.
        if f"{index} passed sanity check." not in checked.lines and index.stat().st_size:
            looked_up.complaints.append(f"{index} did not pass the sanity check")
    looked_up.complaints += checked.complaints
    return looked_up
