"""An image as the records that build it: what a snapshot of the metadata holds.

In Kafka's order: the features first, `metadata.version` before the others as it says how to read
what follows, then brokers and controllers, topics, configs, quotas, producer ids, ACLs, SCRAM
credentials and tokens. A record, or a field of one, that the metadata version does not know is left
out: no node of such a cluster could have written it.

Everything here is a generator. A large image is written a batch at a time, between which the
caller may do other work: the image does not change under it.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from barnabas_core.metadata.cluster_image import BrokerImage, ControllerImage
from barnabas_core.metadata.feature import (
    METADATA_VERSION,
    is_record_supported,
    record_version,
)
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.record import encode_record
from barnabas_core.metadata.topics_image import TopicImage
from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord, EntityData
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.delegation_token_record import DelegationTokenRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from barnabas_core.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from barnabas_core.wire.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from barnabas_core.wire.schema import Field, Message

RECORDS_PER_BATCH: Final = 256
"""Encoded in about a millisecond."""


def image_records(image: Image, *, level: int | None = None) -> Iterator[Message]:
    """The records, fit for the image's own metadata version, or for another `level`."""
    level = image.metadata_level if level is None else level
    for record in _records(image, level):
        if is_record_supported(type(record).__name__, level):
            yield fitted(record, record_version_for(type(record), level))


def record_batches(
    image: Image, *, level: int | None = None, records_per_batch: int = RECORDS_PER_BATCH
) -> Iterator[list[bytes]]:
    """The same records, encoded, so many at a time: each list is worth one batch."""
    level = image.metadata_level if level is None else level
    records = image_records(image, level=level)
    while batch := list(islice(records, records_per_batch)):
        yield [encode_at_level(record, level) for record in batch]


def encode_at_level(record: Message, level: int) -> bytes:
    """The record in its frame, at the version that this metadata version writes."""
    return encode_record(record, record_version_for(type(record), level))


def record_version_for(record_class: type[Message], level: int) -> int:
    """`FeatureError` if records of this class are not known at this metadata version."""
    version = _versions.get((record_class, level))
    if version is None:
        version = _versions[record_class, level] = record_version(record_class.__name__, level)
    return version


def fitted(record: Message, version: int) -> Message:
    """The record without the fields that `version` lacks; it is changed in place."""
    for field in _fields_lacking(type(record), version):
        # A list may not be shared, and every field here that is not a number is one, or null.
        default = [] if field.default == () else field.default
        setattr(record, field.name, default)
    return record


def _fields_lacking(record_class: type[Message], version: int) -> tuple[Field, ...]:
    known = _lacking.get((record_class, version))
    if known is None:
        known = tuple(field for field in record_class.FIELDS if not field.is_in(version))
        _lacking[record_class, version] = known
    return known


_versions: dict[tuple[type[Message], int], int] = {}
_lacking: dict[tuple[type[Message], int], tuple[Field, ...]] = {}


# --- each part of the image


def _records(image: Image, level: int) -> Iterator[Message]:
    return chain(
        _features(image, level),
        map(broker_record, image.cluster.brokers.values()),
        map(controller_record, image.cluster.controllers.values()),
        chain.from_iterable(map(_topic, image.topics)),
        _configs(image),
        _quotas(image),
        _producer_ids(image),
        _acls(image),
        _scram(image),
        _tokens(image),
    )


def _features(image: Image, level: int) -> Iterator[Message]:
    if METADATA_VERSION in image.features:
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)
    for name, feature_level in image.features.items():
        if name != METADATA_VERSION:
            yield FeatureLevelRecord(name=name, feature_level=feature_level)


def broker_record(broker: BrokerImage) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[BrokerEndpoint(*listener) for listener in broker.listeners],
        features=[BrokerFeature(*supported) for supported in broker.features],
        rack=broker.rack,
        fenced=broker.is_fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=list(broker.cordoned_log_dirs) or None,
    )


def controller_record(controller: ControllerImage) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        end_points=[ControllerEndpoint(*listener) for listener in controller.listeners],
        features=[ControllerFeature(*supported) for supported in controller.features],
    )


def _topic(topic: TopicImage) -> Iterator[Message]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for number, partition in topic.partitions.items():
        yield partition.to_record(topic.id, number)


def _configs(image: Image) -> Iterator[Message]:
    for resource, values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(
                resource_type=resource.type,
                resource_name=resource.name,
                name=name,
                value=value,
            )


def _quotas(image: Image) -> Iterator[Message]:
    for entity, values in image.quotas.items():
        for key, value in values.items():
            yield ClientQuotaRecord(
                entity=[EntityData(kind, name) for kind, name in entity], key=key, value=value
            )


def _producer_ids(image: Image) -> Iterator[Message]:
    if image.next_producer_id > 0:
        yield ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )


def _acls(image: Image) -> Iterator[Message]:
    for acl_id, acl in image.acls.items():
        yield AccessControlEntryRecord(acl_id, *acl)


def _scram(image: Image) -> Iterator[Message]:
    for key, credential in image.scram.items():
        yield UserScramCredentialRecord(
            name=key.user,
            mechanism=key.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )


def _tokens(image: Image) -> Iterator[Message]:
    for token_id, token in image.tokens.items():
        yield DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_at_ms,
            max_timestamp=token.max_at_ms,
            expiration_timestamp=token.expiration_at_ms,
            token_id=token_id,
        )
