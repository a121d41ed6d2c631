"""The files that say what a directory is, byte for byte."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import (
    MetaProperties,
    PartitionMetadata,
    decode_clean_shutdown,
    encode_clean_shutdown,
)

DIRECTORY_ID = bytes(range(16))
META = (
    b"#\n"
    b"#Sun Nov 16 10:44:05 UTC 2025\n"
    b"cluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
    b"directory.id=AAECAwQFBgcICQoLDA0ODw\n"
    b"node.id=3\n"
    b"version=1\n"
)
uuids = st.binary(min_size=16, max_size=16)


def test_meta_properties_are_written_as_kafka_does() -> None:
    meta = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 3, DIRECTORY_ID)

    assert meta.encode(now_ms=1763289845999) == META
    assert MetaProperties.decode(META) == meta


def test_a_day_has_two_digits_in_the_date() -> None:
    encoded = MetaProperties("c", 0).encode(now_ms=0)

    assert encoded.startswith(b"#\n#Thu Jan 01 00:00:00 UTC 1970\n")
    assert b"directory.id" not in encoded


@given(
    cluster_id=st.text(st.characters(codec="latin-1"), min_size=1),
    node_id=st.integers(0, 2**31 - 1),
    directory_id=st.none() | uuids,
    now_ms=st.integers(0, 10**13),
)
def test_meta_properties_come_back_as_they_were_written(
    cluster_id: str, node_id: int, directory_id: bytes | None, now_ms: int
) -> None:
    meta = MetaProperties(cluster_id, node_id, directory_id)
    assert MetaProperties.decode(meta.encode(now_ms)) == meta


def test_a_cluster_id_of_any_script_comes_back() -> None:
    meta = MetaProperties("Żółć-🐫", 1)

    assert meta.encode(0).isascii()
    assert MetaProperties.decode(meta.encode(0)) == meta


def test_keys_come_in_any_order_with_any_separator() -> None:
    data = b"! a comment\nversion : 1\ncluster.id c\r\n  node.id=7\n"

    assert MetaProperties.decode(data) == MetaProperties("c", 7)


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"", 0, "version is missing"),
        (b"#\nversion=0\nbroker.id=1\n", 2, "expected 1"),
        (b"version=1\nnode.id=1\n", 2, "cluster.id is missing"),
        (b"version=1\ncluster.id=c\n", 2, "node.id is missing"),
        (b"version=1\ncluster.id=c\nnode.id=one\n", 3, "not a whole number"),
        (b"version=1\ncluster.id=c\nnode.id=-1\n", 3, "negative"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n", 4, "directory.id"),
        (b"version=1\ncluster.id=\\u12\nnode.id=1\n", 2, "hexadecimal"),
    ],
)
def test_damaged_meta_properties_are_refused_with_their_line(
    data: bytes, line: int, reason: str
) -> None:
    with pytest.raises(CorruptFile, match=reason) as caught:
        MetaProperties.decode(data)

    assert caught.value.line == line


@given(st.binary(max_size=60))
def test_garbage_is_refused_with_the_one_error(data: bytes) -> None:
    for decode in (MetaProperties.decode, PartitionMetadata.decode):
        with suppress(CorruptFile):
            decode(data)


def test_partition_metadata_are_written_as_kafka_does() -> None:
    encoded = PartitionMetadata(DIRECTORY_ID).encode()

    assert encoded == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"


@given(topic_id=uuids.filter(any))
def test_partition_metadata_come_back_as_they_were_written(topic_id: bytes) -> None:
    assert PartitionMetadata.decode(PartitionMetadata(topic_id).encode()).topic_id == topic_id


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (b"version 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw", 1),
        (b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", 1),
        (b"version: 0", 2),
        (b"version: 0\nid: AAECAwQFBgcICQoLDA0ODw", 2),
        (b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0OD", 2),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2),
        (b"version: 0\ntopic_id: \xff", 2),
    ],
)
def test_damaged_partition_metadata_are_refused_with_their_line(data: bytes, line: int) -> None:
    with pytest.raises(CorruptFile) as caught:
        PartitionMetadata.decode(data)

    assert caught.value.line == line


def test_a_clean_shutdown_is_written_as_kafka_does() -> None:
    assert encode_clean_shutdown(17) == b'{"version":0,"brokerEpoch":17}'


@given(st.integers(-1, 2**63 - 1))
def test_the_broker_epoch_of_a_clean_shutdown_comes_back(broker_epoch: int) -> None:
    assert decode_clean_shutdown(encode_clean_shutdown(broker_epoch)) == broker_epoch


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"7",
        b"\xff",
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":"x"}',
        b'{"brokerEpoch":1.5}',
        b'{"brokerEpoch":9223372036854775808}',
        b"[" * 100_000,
    ],
)
def test_a_clean_shutdown_without_an_epoch_is_clean_all_the_same(data: bytes) -> None:
    assert decode_clean_shutdown(data) == -1


def test_the_order_of_a_clean_shutdown_file_does_not_matter() -> None:
    assert decode_clean_shutdown(b'{"brokerEpoch": "5", "version": 0}') == 5
