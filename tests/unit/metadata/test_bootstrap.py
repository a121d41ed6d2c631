"""Bootstrap metadata: which records a new cluster begins with, and where they are found."""

import pytest

from barnabas_core.metadata.bootstrap import (
    BOOTSTRAP_FILE,
    FIRST_CHECKPOINT,
    BootstrapMetadata,
    CorruptBootstrap,
    bootstrap_metadata,
    effective_levels,
    load_bootstrap,
    read_bootstrap,
)
from barnabas_core.metadata.feature import METADATA_VERSION, FeatureError, level_of_name
from barnabas_core.metadata.record import encode_record
from barnabas_core.raft.checkpoint_file import build_checkpoint
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from tests.support.fake_disk import FakeDisk

LATEST = 30
VOTERS = VoterSet.of([Voter(ReplicaKey(NodeId(1), bytes(15) + b"x"), (Endpoint("C", "h", 1),))])


def levels_of(bootstrap: BootstrapMetadata) -> list[tuple[str, int]]:
    return list(bootstrap.feature_levels.items())


def test_the_metadata_version_comes_first_then_the_others_by_name() -> None:
    bootstrap = bootstrap_metadata(LATEST, effective_levels(LATEST, {}))

    assert levels_of(bootstrap) == [
        ("metadata.version", 30),
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("share.version", 1),
        ("streams.version", 1),
        ("transaction.version", 2),
    ]


def test_the_order_of_features_is_that_of_their_names_however_they_were_given() -> None:
    bootstrap = bootstrap_metadata(30, {"transaction.version": 2, "group.version": 1})

    assert [name for name, _ in levels_of(bootstrap)][1:] == [
        "group.version",
        "transaction.version",
    ]


def test_features_at_level_zero_are_left_out() -> None:
    old = bootstrap_metadata(20, effective_levels(20, {"kraft.version": 1}))
    chosen = bootstrap_metadata(LATEST, effective_levels(LATEST, {"group.version": 0}))

    assert levels_of(old) == [("metadata.version", 20)]
    assert "group.version" not in chosen.feature_levels


def test_credentials_come_last_and_need_a_release_that_can_store_them() -> None:
    alice = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"s", iterations=4096)

    assert bootstrap_metadata(11, {}, [alice]).records[-1] == alice
    with pytest.raises(FeatureError, match=r"only supported in metadata\.version 3\.5-IV2"):
        bootstrap_metadata(10, {}, [alice])


@pytest.mark.parametrize(
    ("level", "wanted", "reason"),
    [
        (30, {"colour.version": 1}, "Unsupported feature: colour.version"),
        (30, {"group.version": 2}, "No feature:group.version with feature level 2"),
        (20, {"eligible.leader.replicas.version": 1}, "depends on metadata.version level 23"),
        (31, {}, "metadata.version 4.4-IV0 is not yet stable"),
        (6, {}, "No feature:metadata.version"),
    ],
)
def test_levels_that_cannot_be_are_refused(level: int, wanted: dict[str, int], reason: str) -> None:
    with pytest.raises(FeatureError) as raised:
        effective_levels(level, wanted)

    assert reason in str(raised.value)


def test_an_unstable_release_runs_where_it_was_asked_for() -> None:
    assert effective_levels(31, {}, unstable=True)[METADATA_VERSION] == 31


def test_what_is_written_is_read_back() -> None:
    alice = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"s", iterations=4096)
    bootstrap = bootstrap_metadata(LATEST, effective_levels(LATEST, {}), [alice])

    assert read_bootstrap(bootstrap.encode(1_700_000_000_000)) == bootstrap


def test_a_file_without_a_metadata_version_is_no_bootstrap() -> None:
    topic = encode_record(TopicRecord(name="t"), 0)
    unknown = encode_record(FeatureLevelRecord(METADATA_VERSION, 99), 0)
    whole = bootstrap_metadata(LATEST, {}).encode(0)

    for data in (checkpoint([topic]), checkpoint([unknown]), whole[:-1], b"", b"rubbish"):
        with pytest.raises(CorruptBootstrap):
            read_bootstrap(data)


def checkpoint(values: list[bytes], voters: VoterSet | None = None) -> bytes:
    parts = build_checkpoint(
        [values] if values else [],
        last_appended_at_ms=0,
        timestamp_ms=0,
        kraft_version=None if voters is None else 1,
        voters=voters,
    )
    return b"".join(parts)


def disk_with(files: dict[str, bytes]) -> FakeDisk:
    disk = FakeDisk()
    disk.make_dirs("/data/__cluster_metadata-0")
    for name, data in files.items():
        disk.replace(f"/data/{name}", data)
    return disk


def test_bootstrap_records_lie_in_their_own_file_or_in_the_first_snapshot() -> None:
    old = bootstrap_metadata(level_of_name("3.9-IV0"), {})
    record = encode_record(FeatureLevelRecord(METADATA_VERSION, 29), 0)
    newer_layout = checkpoint([record], VOTERS)

    both = disk_with({BOOTSTRAP_FILE: old.encode(0), FIRST_CHECKPOINT: checkpoint([], VOTERS)})
    first = disk_with({FIRST_CHECKPOINT: newer_layout})

    assert load_bootstrap(both, "/data") == old
    assert load_bootstrap(first, "/data").metadata_level == 29


def test_a_directory_without_any_starts_with_the_latest() -> None:
    nothing, voters_only = disk_with({}), disk_with({FIRST_CHECKPOINT: checkpoint([], VOTERS)})

    for disk in (nothing, voters_only):
        assert levels_of(load_bootstrap(disk, "/data")) == [(METADATA_VERSION, LATEST)]


@pytest.mark.parametrize("name", [BOOTSTRAP_FILE, FIRST_CHECKPOINT])
def test_a_damaged_file_is_named(name: str) -> None:
    with pytest.raises(CorruptBootstrap, match=f"/data/{name}: "):
        load_bootstrap(disk_with({name: b"x" * 100}), "/data")
