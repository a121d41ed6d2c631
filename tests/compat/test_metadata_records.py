"""Kafka's dump tool decodes our metadata records, every kind of them, and prints what we wrote."""

import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from barnabas_core.metadata.feature import METADATA_VERSION, is_record_supported
from barnabas_core.metadata.snapshot import (
    encode_at_level,
    fitted,
    image_records,
    record_version_for,
)
from barnabas_core.raft.checkpoint_file import build_checkpoint, checkpoint_name
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.messages.abort_transaction_record import AbortTransactionRecord
from barnabas_core.wire.messages.begin_transaction_record import BeginTransactionRecord
from barnabas_core.wire.messages.end_transaction_record import EndTransactionRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.zk_migration_state_record import ZkMigrationStateRecord
from barnabas_core.wire.schema import Message
from tests.support.external import JavaRuntime
from tests.support.kafka_json import shown_struct
from tests.support.metadata_history import history, image_of

MAIN_CLASS = "org.apache.kafka.tools.DumpLogSegments"
DUMPING = re.compile(r"Dumping (?P<path>.*)")
PAYLOAD = re.compile(r"\| offset: \d+ .* payload: (?P<json>\{.*\})")
LEVELS = (7, 16, 22, 30)
NOW_MS = 1_700_000_000_000
IN_NO_HISTORY: tuple[Message, ...] = (
    BeginTransactionRecord(name="a change"),
    EndTransactionRecord(),
    BeginTransactionRecord(),
    AbortTransactionRecord(reason="the controller changed"),
    ZkMigrationStateRecord(zk_migration_state=0),
)


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[int, list[Message]]]:
    """What is in each file: the level it is written at, and its records."""
    found: dict[str, tuple[int, list[Message]]] = {}
    for level in LEVELS:
        image = image_of(history(seed=level, size=250))
        offset = len(found) + 1
        found[checkpoint_name(SnapshotId(offset, 3))] = (
            level,
            list(image_records(image, level=level)),
        )
        log = [*history(seed=100 + level, size=250), *IN_NO_HISTORY]
        found[checkpoint_name(SnapshotId(offset + 1, 3))] = level, list(at_level(log, level))
    return found


def at_level(records: Iterable[Message], level: int) -> Iterable[Message]:
    """What a cluster of this metadata version could have in its log of these."""
    for record in records:
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
            record.feature_level = level
        if is_record_supported(type(record).__name__, level):
            yield fitted(record, record_version_for(type(record), level))


@pytest.fixture(scope="module")
def dump(
    java: JavaRuntime,
    cases: dict[str, tuple[int, list[Message]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, list[object]]:
    """What the tool prints of each file: one start of Java for all of them."""
    directory = tmp_path_factory.mktemp("checkpoints")
    for name, (level, records) in cases.items():
        write(directory / name, [encode_at_level(record, level) for record in records])
    files = ",".join(str(directory / name) for name in cases)
    done = subprocess.run(
        java.command(MAIN_CLASS, "--cluster-metadata-decoder", "--files", files),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return payloads(done.stdout)


def write(path: Path, values: Sequence[bytes]) -> None:
    batches = [values[start : start + 50] for start in range(0, len(values), 50)]
    parts = build_checkpoint(
        batches,
        last_appended_at_ms=NOW_MS,
        timestamp_ms=NOW_MS,
        kraft_version=None,
        voters=None,
        epoch=3,
    )
    path.write_bytes(b"".join(parts))


def payloads(output: str) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    name = ""
    for line in output.splitlines():
        heading, payload = DUMPING.fullmatch(line), PAYLOAD.fullmatch(line)
        if heading is not None:
            name = Path(heading["path"]).name
        elif payload is not None:
            found.setdefault(name, []).append(json.loads(payload["json"]))
    return found


def test_kafka_reads_every_record_as_we_wrote_it(
    dump: dict[str, list[object]], cases: dict[str, tuple[int, list[Message]]]
) -> None:
    assert dump.keys() == cases.keys()
    for name, (level, records) in cases.items():
        expected = [shown(record, level) for record in records]
        for theirs, ours in zip(dump[name], expected, strict=True):
            assert theirs == ours, f"at level {level}"


def test_the_files_hold_every_kind_of_record(
    dump: dict[str, list[object]], cases: dict[str, tuple[int, list[Message]]]
) -> None:
    kinds = {type(record).__name__ for _, records in cases.values() for record in records}

    assert len(kinds) == 26
    assert sum(map(len, dump.values())) > 1000


# --- our records as Kafka's tool shows them


def shown(record: Message, level: int) -> dict[str, object]:
    version = record_version_for(type(record), level)
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(record).__name__).upper()
    return {"type": kind, "version": version, "data": shown_struct(record, version)}
