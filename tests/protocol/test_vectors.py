"""The codec against bytes that Kafka's Java implementation wrote, for every message and version."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas_core.wire.catalog import message_class, message_names
from barnabas_core.wire.codec import decode
from tools import check_vectors

VECTORS = Path(__file__).parent / "vectors"
FILES = sorted(VECTORS.glob("*.jsonl.gz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_every_vector_decodes_to_its_values_and_encodes_to_its_bytes(path: Path) -> None:
    count, failures = check_vectors.check_file(path)

    assert count > 0
    assert failures == []


def test_every_message_has_a_vector_at_every_version() -> None:
    seen = {
        (vector.message, vector.version)
        for path in FILES
        for _, line in check_vectors.read_vectors(path)
        for vector in [check_vectors.parse_vector(line, are_defaults=False)]
    }

    wanted = {
        (name, version)
        for name in message_names()
        for message in [message_class(name)]
        for version in range(message.MIN_VERSION, message.MAX_VERSION + 1)
    }
    assert seen == wanted


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_buffer_of_any_type_decodes_to_the_same_values(kind: Callable[[bytes], Any]) -> None:
    for _, line in check_vectors.read_vectors(VECTORS / "request.jsonl.gz"):
        vector = check_vectors.parse_vector(line, are_defaults=False)
        message = message_class(vector.message)

        assert decode(message, vector.version, kind(vector.data)) == decode(
            message, vector.version, vector.data
        )


def test_the_tool_ends_with_the_count_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    status = check_vectors.main([str(VECTORS)])

    assert capsys.readouterr().out.splitlines()[-1] == "4929 vectors, 0 failures"
    assert status == 0


def _first_row(name: str) -> dict[str, Any]:
    _, line = next(check_vectors.read_vectors(VECTORS / name))
    row: dict[str, Any] = json.loads(line)
    return row


def _other_bytes(row: dict[str, Any]) -> None:
    # The first bytes of a ProduceRequest version 3 are the length of its transactional id.
    row["hex"] = "ffff" + row["hex"][4:]


def _other_value(row: dict[str, Any]) -> None:
    row["json"]["timeout_ms"] += 1


def _other_type(row: dict[str, Any]) -> None:
    row["json"]["timeout_ms"] = float(row["json"]["timeout_ms"])


def _missing_value(row: dict[str, Any]) -> None:
    del row["json"]["acks"]


def _unknown_value(row: dict[str, Any]) -> None:
    row["json"]["colour"] = "blue"


def _other_message(row: dict[str, Any]) -> None:
    row["message"] = "FetchRequest"


def _no_message(row: dict[str, Any]) -> None:
    row["message"] = "NoSuchRequest"


def _other_version(row: dict[str, Any]) -> None:
    row["version"] = 99


def _one_byte_more(row: dict[str, Any]) -> None:
    row["hex"] += "00"


def _no_hex(row: dict[str, Any]) -> None:
    row["hex"] = "xyz"


@pytest.mark.parametrize(
    "corrupt",
    [
        _other_bytes,
        _other_value,
        _other_type,
        _missing_value,
        _unknown_value,
        _other_message,
        _no_message,
        _other_version,
        _one_byte_more,
        _no_hex,
    ],
)
def test_a_corrupted_vector_is_a_failure(
    corrupt: Callable[[dict[str, Any]], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = _first_row("request.jsonl.gz")
    corrupt(row)
    with gzip.open(tmp_path / "request.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    status = check_vectors.main([str(tmp_path)])

    assert capsys.readouterr().out.splitlines()[-1] == "1 vectors, 1 failures"
    assert status == 1


def test_a_vector_of_defaults_with_another_value_is_a_failure(tmp_path: Path) -> None:
    row = _first_row("request.jsonl.gz")
    path = tmp_path / "defaults.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    _, failures = check_vectors.check_file(path)

    assert len(failures) == 1
    assert "default" in failures[0].reason


def test_no_vectors_at_all_is_not_a_success(tmp_path: Path) -> None:
    assert check_vectors.main([str(tmp_path)]) == 1
