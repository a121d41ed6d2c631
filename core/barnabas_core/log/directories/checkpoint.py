"""Kafka's checkpoint files, byte for byte: text to values and back, no I/O.

A checkpoint is a version line (0), a line with the number of entries, then one entry per line:
`topic partition offset` in `recovery-point-offset-checkpoint`, `replication-offset-checkpoint`,
`log-start-offset-checkpoint` and `cleaner-offset-checkpoint` of a log directory; `epoch
start_offset` in a partition's `leader-epoch-checkpoint`. An empty file, which Kafka creates
before the first checkpoint, has no entries.
"""

from collections.abc import Iterable, Mapping

from barnabas_core.config.number import INT32_MAX, INT64_MAX, parse_whole

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
CLEANER_FILE = "cleaner-offset-checkpoint"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"

_VERSION = 0

PartitionOffsets = dict[tuple[str, int], int]


class CorruptFile(Exception):
    """A small text file of the log is not what Kafka would have written; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


def encode_offsets(offsets: Mapping[tuple[str, int], int]) -> bytes:
    return _encode([f"{topic} {part} {offset}" for (topic, part), offset in offsets.items()])


def decode_offsets(data: bytes) -> PartitionOffsets:
    offsets: PartitionOffsets = {}
    for number, line in _entry_lines(data):
        fields = line.split()
        if len(fields) != 3:
            raise CorruptFile(number, f"not 'topic partition offset': {line!r}")
        topic, partition, offset = fields
        offsets[topic, _whole(number, partition, INT32_MAX)] = _whole(number, offset, INT64_MAX)
    return offsets


def encode_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    return _encode([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def decode_leader_epochs(data: bytes) -> list[tuple[int, int]]:
    entries = []
    for number, line in _entry_lines(data):
        fields = line.split()
        if len(fields) != 2:
            raise CorruptFile(number, f"not 'epoch start_offset': {line!r}")
        entry = _whole(number, fields[0], INT32_MAX), _whole(number, fields[1], INT64_MAX)
        if min(entry) < 0:
            raise CorruptFile(number, f"a negative epoch or offset: {line!r}")
        entries.append(entry)
    return entries


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def _entry_lines(data: bytes) -> list[tuple[int, str]]:
    """The entries with their line numbers, once version and count are what they should be."""
    lines = _lines(data)
    if not lines:
        return []
    version = _whole(1, lines[0], INT32_MAX)
    if version != _VERSION:
        raise CorruptFile(1, f"version {version}, expected {_VERSION}")
    if len(lines) == 1:
        return []
    count = _whole(2, lines[1], INT32_MAX)
    if count != len(lines) - 2:
        raise CorruptFile(2, f"{count} entries announced, {len(lines) - 2} found")
    return list(enumerate(lines[2:], start=3))


def _lines(data: bytes) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CorruptFile(data.count(b"\n", 0, error.start) + 1, "not UTF-8") from error
    # Not splitlines(): a topic name cannot, but a damaged file may hold other line ends.
    return text.removesuffix("\n").split("\n") if text else []


def _whole(line: int, text: str, largest: int) -> int:
    try:
        return parse_whole(text, largest)
    except ValueError as error:
        raise CorruptFile(line, str(error)) from error
