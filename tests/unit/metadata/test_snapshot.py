"""Images as records: there and back, at every level, and images that never change."""

import copy
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feature import METADATA_VERSION, FeatureError, is_record_supported
from barnabas_core.metadata.image import EMPTY_IMAGE, NOWHERE, Image
from barnabas_core.metadata.record import decode_record
from barnabas_core.metadata.snapshot import (
    encode_at_level,
    image_records,
    record_batches,
    record_version_for,
)
from barnabas_core.wire.catalog import message_for_key
from barnabas_core.wire.messages.abort_transaction_record import AbortTransactionRecord
from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.begin_transaction_record import BeginTransactionRecord
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.delegation_token_record import DelegationTokenRecord
from barnabas_core.wire.messages.end_transaction_record import EndTransactionRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from barnabas_core.wire.messages.register_controller_record import RegisterControllerRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from barnabas_core.wire.messages.zk_migration_state_record import ZkMigrationStateRecord
from barnabas_core.wire.schema import Message
from tests.support.metadata_history import LATEST_LEVEL, histories, history, image_of

LEVELS = range(7, 32)
RECORDS = [
    message_for_key("metadata-record", key) for key in range(29) if key not in (6, 13, 16)
]  # keys of records that Kafka no longer has
NOT_IN_HISTORIES = {
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    ZkMigrationStateRecord,
}
SNAPSHOT_ORDER = (
    FeatureLevelRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    ConfigRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    AccessControlEntryRecord,
    UserScramCredentialRecord,
    DelegationTokenRecord,
)


def through_bytes(batches: Iterable[list[bytes]]) -> Image:
    return image_of(decode_record(value) for batch in batches for value in batch)


def test_random_histories_hold_every_kind_of_record() -> None:
    found = {type(record) for seed in range(20) for record in history(seed, 100)}

    assert found == set(RECORDS) - NOT_IN_HISTORIES


# --- replaying


@given(histories())
def test_an_image_comes_back_from_its_own_records(records: list[Message]) -> None:
    image = image_of(records)

    assert image_of(image_records(image)) == image
    assert through_bytes(record_batches(image)) == image


@given(histories())
def test_one_by_one_and_all_at_once_replay_to_the_same_image(records: list[Message]) -> None:
    image = EMPTY_IMAGE
    for record in records:
        image = image_of([record], image)

    assert image == image_of(records)


@given(histories(), st.data())
def test_an_image_that_is_held_never_changes(records: list[Message], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    held = image_of(records[:cut])
    before = copy.deepcopy(held)

    delta = Delta(held)
    for record in records[cut:]:
        delta.replay(record)
        assert held == before
    after = delta.apply(NOWHERE)

    assert held == before
    assert after == image_of(records)


@given(histories())
def test_what_a_delta_does_not_touch_is_shared_with_the_next_image(records: list[Message]) -> None:
    image = image_of([*records, TopicRecord(name="one", topic_id=b"1" * 16)])

    after = image_of([TopicRecord(name="two", topic_id=b"2" * 16)], image)

    assert after.cluster is image.cluster
    assert after.configs is image.configs
    assert after.acls is image.acls
    assert after.topics.by_id[b"1" * 16] is image.topics.by_id[b"1" * 16]


@given(histories(), histories())
def test_a_delta_to_an_image_built_elsewhere_tells_where_the_two_differ(
    records: list[Message], others: list[Message]
) -> None:
    before, after = image_of(records), image_of(others)

    delta = Delta(before)
    delta.become(after)

    assert delta.apply(NOWHERE) == after
    for topic_id, topic in before.topics.by_id.items():
        assert (topic_id in delta.topics.deleted) == (topic_id not in after.topics.by_id)
        assert topic_id in delta.topics.changed or after.topics.get(topic_id) in (None, topic)
    changed = set(delta.cluster.changed_brokers)
    brokers = {*before.cluster.brokers, *after.cluster.brokers}
    assert changed == {
        each
        for each in brokers
        if before.cluster.brokers.get(each) != after.cluster.brokers.get(each)
    }


# --- the records of a snapshot


@given(histories())
def test_records_come_in_kafkas_order_and_the_metadata_version_first(
    records: list[Message],
) -> None:
    written = list(image_records(image_of(records)))

    first = FeatureLevelRecord(name=METADATA_VERSION, feature_level=LATEST_LEVEL)
    assert written[0] == first
    kinds = [type(each) for each in written if not isinstance(each, PartitionRecord)]
    places = [SNAPSHOT_ORDER.index(kind) for kind in kinds]
    assert places == sorted(places)


def test_partitions_follow_their_topic() -> None:
    image = image_of(history(seed=3, size=80))

    topic_id = b""
    for record in image_records(image):
        if isinstance(record, TopicRecord):
            topic_id = record.topic_id
        if isinstance(record, PartitionRecord):
            assert record.topic_id == topic_id


@given(histories(), st.integers(1, 20))
def test_batches_are_as_long_as_asked_but_the_last(records: list[Message], size: int) -> None:
    image = image_of(records)

    batches = list(record_batches(image, records_per_batch=size))

    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert 0 < len(batches[-1]) <= size


def test_an_empty_image_has_no_records() -> None:
    assert list(image_records(EMPTY_IMAGE)) == []
    assert list(record_batches(EMPTY_IMAGE)) == []


def test_writing_a_snapshot_leaves_the_image_as_it_is() -> None:
    image = image_of(history(seed=5, size=80))
    before = copy.deepcopy(image)

    list(record_batches(image, level=7))

    assert image == before


# --- levels


@given(histories(), st.sampled_from(LEVELS))
def test_a_lower_level_drops_only_what_it_lacks(records: list[Message], level: int) -> None:
    image = image_of(records)

    lower = through_bytes(record_batches(image, level=level))

    assert lower.metadata_level == level
    assert lower.configs == image.configs
    assert lower.quotas == image.quotas
    assert lower.acls == image.acls
    assert lower.scram == (image.scram if level >= 11 else {})
    assert lower.tokens == (image.tokens if level >= 14 else {})
    assert lower.cluster.controllers == (image.cluster.controllers if level >= 15 else {})
    for broker in image.cluster.brokers.values():
        there = lower.cluster.brokers[broker.id]
        assert there.in_controlled_shutdown == broker.in_controlled_shutdown
        assert there.log_dirs == (broker.log_dirs if level >= 17 else ())
        assert there.cordoned_log_dirs == (broker.cordoned_log_dirs if level >= 30 else ())
    for topic in image.topics:
        for number, partition in topic.partitions.items():
            found = lower.topics.partition(topic.id, number)
            assert found is not None
            assert found.replicas == partition.replicas
            assert found.leader_epoch == partition.leader_epoch
            assert (found.directories == partition.directories) == (level >= 17)
            wanted = partition.eligible_leader_replicas if level >= 23 else ()
            assert found.eligible_leader_replicas == wanted


@given(histories(), st.sampled_from(LEVELS))
def test_an_image_of_a_lower_level_comes_back_at_that_level(
    records: list[Message], level: int
) -> None:
    lower = through_bytes(record_batches(image_of(records), level=level))

    assert through_bytes(record_batches(lower)) == lower


@pytest.mark.parametrize(
    ("record_class", "versions"),
    [
        (RegisterBrokerRecord, {7: 1, 8: 2, 16: 2, 17: 3, 29: 3, 30: 4}),
        (BrokerRegistrationChangeRecord, {7: 1, 16: 1, 17: 2, 29: 2, 30: 3}),
        (PartitionRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 30: 2}),
        (PartitionChangeRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 30: 2}),
        (TopicRecord, {7: 0, 30: 0}),
    ],
)
def test_a_level_says_at_which_version_a_record_is_written(
    record_class: type[Message], versions: dict[int, int]
) -> None:
    found = {level: record_version_for(record_class, level) for level in versions}

    assert found == versions


@pytest.mark.parametrize("level", LEVELS)
def test_every_record_has_a_version_at_every_level_that_knows_it(level: int) -> None:
    for kind in RECORDS:
        if is_record_supported(kind.__name__, level):
            assert kind.MIN_VERSION <= record_version_for(kind, level) <= kind.MAX_VERSION


def test_a_record_that_a_level_does_not_know_has_no_version_there() -> None:
    with pytest.raises(FeatureError):
        encode_at_level(BeginTransactionRecord(), 12)

    assert encode_at_level(BeginTransactionRecord(), 13)
