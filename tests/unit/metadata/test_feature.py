"""Features and their levels; the versions of metadata records."""

import subprocess
import sys

import pytest

from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
    FeatureError,
    changed_metadata_between,
    check_dependencies,
    feature,
    is_record_supported,
    latest_production,
    level_of_name,
    name_of_level,
    record_version,
)


def test_a_new_cluster_gets_4_3() -> None:
    assert name_of_level(latest_production()) == "4.3-IV0"
    assert {name: one.default_level for name, one in FEATURES.items()} == {
        METADATA_VERSION: 30,
        KRAFT_VERSION: 1,
        TRANSACTION_VERSION: 2,
        GROUP_VERSION: 1,
        ELIGIBLE_LEADER_REPLICAS_VERSION: 1,
        SHARE_VERSION: 1,
        STREAMS_VERSION: 1,
    }


def test_an_unstable_level_is_announced_only_where_it_was_asked_for() -> None:
    metadata_version = FEATURES[METADATA_VERSION]

    assert (metadata_version.minimum, metadata_version.maximum()) == (7, 30)
    assert metadata_version.maximum(unstable=True) == 31


def test_levels_of_a_feature_have_no_gaps() -> None:
    for one in FEATURES.values():
        levels = [level.level for level in one.levels]
        assert levels == list(range(one.minimum, one.minimum + len(levels)))
        assert all(one.at(level).level == level for level in levels)


@pytest.mark.parametrize(
    ("metadata_version", "share", "transaction"),
    [("3.9-IV0", 0, 0), ("4.0-IV1", 0, 0), ("4.0-IV2", 0, 2), ("4.2-IV0", 1, 2)],
)
def test_an_older_release_starts_with_the_levels_of_its_day(
    metadata_version: str, share: int, transaction: int
) -> None:
    level = level_of_name(metadata_version)

    assert FEATURES[SHARE_VERSION].default_level_at(level) == share
    assert FEATURES[TRANSACTION_VERSION].default_level_at(level) == transaction
    assert FEATURES[METADATA_VERSION].default_level_at(level) == level


def test_a_release_without_its_number_means_its_last_level() -> None:
    assert level_of_name("3.7") == level_of_name("3.7-IV4") == 19
    assert level_of_name("4.0-IV0") == 22


@pytest.mark.parametrize("name", ["", "3.2", "3.3-IV2", "4.9-IV0", "IV0", "4"])
def test_what_is_no_release_is_refused(name: str) -> None:
    with pytest.raises(FeatureError, match="not a valid metadata version"):
        level_of_name(name)


def test_unknown_features_and_levels_are_refused() -> None:
    with pytest.raises(FeatureError, match=r"Unsupported feature: colour\.version"):
        feature("colour.version")
    for level in (-1, 3):
        with pytest.raises(FeatureError, match=r"No feature:transaction.version"):
            feature(TRANSACTION_VERSION).at(level)


def test_metadata_changed_only_where_a_level_in_between_brought_something() -> None:
    assert not changed_metadata_between(30, 30)
    assert changed_metadata_between(29, 30)
    assert not changed_metadata_between(23, 29)
    assert changed_metadata_between(22, 29)
    assert not changed_metadata_between(30, 31)


def test_eligible_leader_replicas_need_the_metadata_version_that_can_store_them() -> None:
    check_dependencies(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, {METADATA_VERSION: 23})
    check_dependencies(ELIGIBLE_LEADER_REPLICAS_VERSION, 0, {METADATA_VERSION: 22})

    with pytest.raises(FeatureError, match=r"it depends on metadata\.version level 23"):
        check_dependencies(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, {METADATA_VERSION: 22})


def test_a_feature_needs_a_metadata_version_at_all() -> None:
    with pytest.raises(FeatureError, match=r"depends on metadata\.version=7 \(3\.3-IV3\)"):
        check_dependencies(GROUP_VERSION, 1, {})


@pytest.mark.parametrize(
    ("record", "versions"),
    [
        ("RegisterBrokerRecord", {7: 1, 8: 2, 16: 2, 17: 3, 29: 3, 30: 4}),
        ("PartitionRecord", {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 31: 2}),
        ("PartitionChangeRecord", {7: 0, 17: 1, 23: 2}),
        ("RegisterControllerRecord", {15: 0, 30: 0}),
        ("BrokerRegistrationChangeRecord", {7: 1, 16: 1, 17: 2, 29: 2, 30: 3}),
        ("TopicRecord", {7: 0, 30: 0}),
    ],
)
def test_a_record_is_written_at_the_version_of_the_metadata_level(
    record: str, versions: dict[int, int]
) -> None:
    assert {level: record_version(record, level) for level in versions} == versions


@pytest.mark.parametrize(
    ("record", "first"),
    [
        ("RegisterControllerRecord", 15),
        ("UserScramCredentialRecord", 11),
        ("DelegationTokenRecord", 14),
        ("BeginTransactionRecord", 13),
        ("ClearElrRecord", 23),
    ],
)
def test_a_record_that_the_level_does_not_know_is_never_written(record: str, first: int) -> None:
    assert is_record_supported(record, first)
    assert not is_record_supported(record, first - 1)
    with pytest.raises(FeatureError, match=f"{record} is not supported at metadata version"):
        record_version(record, first - 1)


def test_importing_the_module_reads_no_table() -> None:
    code = (
        "import barnabas_core.metadata.feature as f;"
        "print(f._features.cache_info().currsize, f._record_versions.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["0", "0"]
