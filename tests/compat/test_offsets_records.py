"""Kafka's dump tool decodes what a group coordinator writes, every kind of record, as it is.

One partition of `__consumer_offsets`, written by our log engine: the records of a shard on which
clients committed, in transactions too, and deleted; and one record of each kind there is, with its
deletion, all their fields filled.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from barnabas_coordinator.shard.decision import Producer, Record
from barnabas_coordinator.shard.record_codec import (
    GROUP_KINDS,
    decode_record,
    encode_record,
    kinds_of,
)
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producers.producer_append import AppendOrigin
from barnabas_core.records.builder import build_batch
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from barnabas_core.wire.schema import Message, Struct
from tests.support.external import JavaRuntime
from tests.support.kafka_json import shown_struct
from tests.support.log_directory import append, open_logs
from tests.support.offsets_lab import Entry, image_of, offsets_lab

S = TypeVar("S", bound=Struct)
MAIN_CLASS = "org.apache.kafka.tools.DumpLogSegments"
RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) .*? key: (?P<key>\{.*?\}) payload: (?P<value>\{.*\}|<DELETE>)"
)
NOW_MS = 1_800_000_000_000
PRODUCER = Producer(7, 1)
FILLED = {"string": "text", "bytes": b"bytes", "uuid": b"sixteen bytes id"}


class Written(NamedTuple):
    entries: list[Entry]
    lines: list[str]
    """What the tool printed."""


@pytest.fixture(scope="module")
def written(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Written:
    directory = tmp_path_factory.mktemp("offsets")
    entries = [*life_of_a_group(), *every_kind()]
    write(directory, entries)
    files = ",".join(map(str, sorted((directory / "__consumer_offsets-0").glob("*.log"))))
    done = subprocess.run(
        java.command(MAIN_CLASS, "--offsets-decoder", "--files", files),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return Written(entries, done.stdout.splitlines())


def life_of_a_group() -> list[Entry]:
    lab = offsets_lab(image_of(["cats", "dogs"]))
    lab.commit(("group", "cats", 0), 17, metadata="by hand, ünd so", leader_epoch=3)
    lab.commit(("group", "cats", 1), 18, version=10)
    lab.commit(("group", "dogs", 2), 19, version=4, retention_ms=60_000)
    lab.commit_in_transaction(PRODUCER, ("group", "dogs", 3), 20)
    lab.ask(DeleteGroupsRequest(["group"]), DeleteGroupsResponse)
    return [entry for entry in lab.entries if len(entry) == 3]


def every_kind() -> Iterator[Entry]:
    for key, value in dict.fromkeys(kinds_of(GROUP_KINDS).values()):
        record = Record(filled(key), filled(value))
        assert isinstance(record.key, Message)
        yield (*encode_record(record), None)
        yield (*encode_record(Record(record.key, None)), None)


def filled(kind: type[S]) -> S:
    """No field has its default, but for the time of expiry that only one old version has."""
    found = kind()
    for row in kind.FIELDS:
        if row.name != "expire_timestamp":
            value = FILLED.get(row.element, 5) if row.struct is None else filled(row.struct)
            setattr(found, row.name, [value] if row.is_array else value)
    return found


def write(directory: Path, entries: list[Entry]) -> None:
    with open_logs(directory, LogConfig()) as manager:
        log = manager.create("__consumer_offsets", 0)
        for key, value, producer in entries:
            batch = build_batch(
                [(key, value)],
                timestamp_ms=NOW_MS,
                producer_id=-1 if producer is None else producer.id,
                producer_epoch=-1 if producer is None else producer.epoch,
                is_transactional=producer is not None,
            )
            append(log, batch, origin=AppendOrigin.COORDINATOR, now_ms=NOW_MS)
        marker = end_transaction_batch(True, 0, *PRODUCER, NOW_MS)
        append(log, marker, origin=AppendOrigin.COORDINATOR, now_ms=NOW_MS)


def test_kafka_reads_every_record_as_we_wrote_it(written: Written) -> None:
    dumped = [match for line in written.lines if (match := RECORD.fullmatch(line)) is not None]

    assert len(dumped) == len(written.entries)
    for theirs, (key, value, _) in zip(dumped, written.entries, strict=True):
        record = decode_record(kinds_of(GROUP_KINDS), key, value)
        assert json.loads(theirs["key"]) == shown_key(record.key)
        if record.value is None:
            assert theirs["value"] == "<DELETE>"
        else:
            version = int.from_bytes((value or b"")[:2], "big")
            assert json.loads(theirs["value"]) == shown(version, record.value)


def test_kafka_sees_whose_transaction_a_commit_is_of(written: Written) -> None:
    of_a_producer = [line for line in written.lines if " producerId: 7 " in line]

    assert len([line for line in of_a_producer if "isTransactional: true" in line]) == 2
    assert any("endTxnMarker: COMMIT" in line for line in written.lines)


def shown_key(key: Message) -> object:
    return {"type": str(key.KEY), "data": shown_struct(key, 0)}


def shown(version: int, value: Message) -> object:
    return {"version": str(version), "data": shown_struct(value, version)}
