"""The small files that say what a directory is: text to values and back, no I/O.

`meta.properties` in each log directory (whose it is), `partition.metadata` in each partition's
directory (which topic id it belongs to), `.kafka_cleanshutdown` in a log directory that was
closed properly (and the broker epoch under which that was, KIP-966).
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from barnabas_core.config.error import MalformedProperties
from barnabas_core.config.number import INT32_MAX, INT64_MAX, parse_whole
from barnabas_core.config.properties import format_properties_text, parse_properties_text
from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.wire.primitive import ZERO_UUID, uuid_from_text, uuid_text

META_PROPERTIES_FILE = "meta.properties"
PARTITION_METADATA_FILE = "partition.metadata"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Whose log directory this is. Version 0, of ZooKeeper's days, is refused."""

    cluster_id: str
    node_id: int
    directory_id: bytes | None = None

    def encode(self, now_ms: int) -> bytes:
        """As `kafka-storage format` writes it: an empty comment, the date, sorted keys."""
        properties = {"version": "1", "cluster.id": self.cluster_id, "node.id": str(self.node_id)}
        if self.directory_id is not None:
            properties["directory.id"] = uuid_text(self.directory_id)
        return format_properties_text(properties, ("", _java_date(now_ms))).encode()

    @classmethod
    def decode(cls, data: bytes) -> "MetaProperties":
        # Latin-1 as Java does; whatever else was meant is escaped.
        try:
            properties = parse_properties_text(data.decode("latin-1"))
        except MalformedProperties as error:
            raise CorruptFile(error.line, str(error)) from error
        lines = data.decode("latin-1").splitlines()
        version = _required(properties, lines, "version")
        if version != "1":
            raise _bad_property(lines, "version", f"version {version!r}, expected 1")
        return cls(
            cluster_id=_required(properties, lines, "cluster.id"),
            node_id=_node_id(properties, lines),
            directory_id=_directory_id(properties, lines),
        )


def _required(properties: dict[str, str], lines: list[str], name: str) -> str:
    if name not in properties:
        raise CorruptFile(len(lines), f"{name} is missing")
    return properties[name]


def _node_id(properties: dict[str, str], lines: list[str]) -> int:
    text = _required(properties, lines, "node.id")
    try:
        node_id = parse_whole(text, INT32_MAX)
    except ValueError as error:
        raise _bad_property(lines, "node.id", str(error)) from error
    if node_id < 0:
        raise _bad_property(lines, "node.id", f"negative: {node_id}")
    return node_id


def _directory_id(properties: dict[str, str], lines: list[str]) -> bytes | None:
    text = properties.get("directory.id")
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise _bad_property(lines, "directory.id", str(error)) from error


def _bad_property(lines: list[str], name: str, reason: str) -> CorruptFile:
    starts = [number for number, line in enumerate(lines, 1) if line.lstrip().startswith(name)]
    return CorruptFile(starts[-1] if starts else len(lines), f"{name}: {reason}")


def _java_date(now_ms: int) -> str:
    """`Sun Nov 16 10:44:00 UTC 2025`, whatever the locale."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    day = "MonTueWedThuFriSatSun"[3 * at.weekday() :][:3]
    month = "JanFebMarAprMayJunJulAugSepOctNovDec"[3 * at.month - 3 :][:3]
    return f"{day} {month} {at.day:02} {at:%H:%M:%S} UTC {at.year}"


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """Which topic a partition's directory belongs to, whatever another one of its name did."""

    topic_id: bytes

    def encode(self) -> bytes:
        return f"version: 0\ntopic_id: {uuid_text(self.topic_id)}".encode()

    @classmethod
    def decode(cls, data: bytes) -> "PartitionMetadata":
        try:
            lines = data.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise CorruptFile(line, "not ASCII") from error
        version = _labelled(lines, 1, "version")
        if version != "0":
            raise CorruptFile(1, f"version {version!r}, expected 0")
        try:
            topic_id = uuid_from_text(_labelled(lines, 2, "topic_id"))
        except ValueError as error:
            raise CorruptFile(2, str(error)) from error
        if topic_id == ZERO_UUID:
            raise CorruptFile(2, "the zero topic id")
        return cls(topic_id)


def _labelled(lines: list[str], number: int, label: str) -> str:
    line = lines[number - 1] if len(lines) >= number else ""
    name, separator, value = line.partition(": ")
    if name != label or not separator:
        raise CorruptFile(number, f"not '{label}: ...': {line!r}")
    return value.strip()


NO_BROKER_EPOCH = -1


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return b'{"version":0,"brokerEpoch":%d}' % broker_epoch


def decode_clean_shutdown(data: bytes) -> int:
    """The broker epoch at the shutdown, -1 if the file does not tell.

    That the file is there says that the shutdown was clean, whatever is in it: it was empty before
    Kafka 3.7.
    """
    try:
        return parse_whole(str(json.loads(data)["brokerEpoch"]), INT64_MAX)
    except (ValueError, TypeError, KeyError, RecursionError):
        return NO_BROKER_EPOCH
