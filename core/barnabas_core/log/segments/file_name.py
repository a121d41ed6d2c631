"""The names in a log directory: Kafka's, exactly.

A partition's directory is `<topic>-<partition>`; a topic's name may itself hold dashes. It gets a
suffix when it is on its way out (`.<32 hex digits>-delete`), is a copy that catches up for a move
between directories (`-future`), or belongs to no known topic (`-stray`). A segment's files are
named by its base offset in 20 digits.
"""

from enum import StrEnum
from typing import NamedTuple

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
PRODUCER_SNAPSHOT = ".snapshot"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

LOCK_FILE = ".lock"

_OFFSET_DIGITS = 20
_UUID_DIGITS = 32
_DIRECTORY_NAME_LENGTH_MAX = 255


class DirectoryState(StrEnum):
    CURRENT = ""
    DELETE = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


class PartitionDirectory(NamedTuple):
    topic: str
    partition: int
    state: DirectoryState


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:0{_OFFSET_DIGITS}d}{suffix}"


def parse_file_name(name: str) -> tuple[int, str] | None:
    """(offset, suffix from the first dot on), None if it is no file of a segment."""
    digits, suffix = name[:_OFFSET_DIGITS], name[_OFFSET_DIGITS:]
    if len(digits) == _OFFSET_DIGITS and digits.isdecimal() and suffix.startswith("."):
        return int(digits), suffix
    return None


def partition_directory(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def departing_directory(topic: str, partition: int, state: DirectoryState, unique: bytes) -> str:
    """The name under which a partition waits for its end; a long topic name is cut to fit."""
    tail = f"-{partition}.{unique.hex()}{state.value}"
    return topic[: _DIRECTORY_NAME_LENGTH_MAX - len(tail)] + tail


def parse_partition_directory(name: str) -> PartitionDirectory | None:
    for state in (DirectoryState.DELETE, DirectoryState.FUTURE, DirectoryState.STRAY):
        if name.endswith(state.value):
            return _parse_departing(name.removesuffix(state.value), state)
    return _parse_current(name, DirectoryState.CURRENT)


def _parse_departing(name: str, state: DirectoryState) -> PartitionDirectory | None:
    stem, dot, unique = name.rpartition(".")
    if not dot or len(unique) != _UUID_DIGITS:
        return None
    return _parse_current(stem, state)


def _parse_current(name: str, state: DirectoryState) -> PartitionDirectory | None:
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not partition.isdecimal():
        return None
    return PartitionDirectory(topic, int(partition), state)
