"""What members of the classic protocol say and are told in bytes: subscriptions and assignments."""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Final, NamedTuple

from barnabas_coordinator.group.consumer.member import Partitions, partitions_of
from barnabas_core.metadata.topics_image import TopicsImage
from barnabas_core.wire.codec import decoder, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from barnabas_core.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION: Final = Struct(">h")
PROTOCOL_TYPE: Final = "consumer"


class Subscription(NamedTuple):
    topics: frozenset[str]
    owned: Partitions
    rack_id: str | None


def version_of(data: bytes) -> int:
    """At most the newest we know: later ones begin as that does."""
    if len(data) < _VERSION.size:
        raise DecodeError("without a version")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise DecodeError(f"version {version}")
    return min(int(version), ConsumerProtocolSubscription.MAX_VERSION)


def subscription_of(data: bytes, topics: TopicsImage) -> Subscription:
    """`DecodeError` if it is none."""
    read = decoder(ConsumerProtocolSubscription, version_of(data))
    message, _ = read(data, _VERSION.size)
    owned = _by_id(((one.topic, one.partitions) for one in message.owned_partitions), topics)
    return Subscription(frozenset(message.topics), owned, message.rack_id)


def assignment_of(data: bytes, topics: TopicsImage) -> Partitions:
    """`DecodeError` if it is none; no bytes at all are none to nobody."""
    if not data:
        return {}
    message, _ = decoder(ConsumerProtocolAssignment, version_of(data))(data, _VERSION.size)
    return _by_id(((one.topic, one.partitions) for one in message.assigned_partitions), topics)


def assignment_bytes(
    held: Mapping[bytes, Iterable[int]], topics: TopicsImage, version: int
) -> bytes:
    named = [
        TopicPartition(topic.name, sorted(numbers))
        for topic_id, numbers in held.items()
        if (topic := topics.get(topic_id)) is not None
    ]
    return _VERSION.pack(version) + encode(ConsumerProtocolAssignment(named), version)


def _by_id(named: Iterable[tuple[str, Iterable[int]]], topics: TopicsImage) -> Partitions:
    pairs = ((topics.id_by_name.get(name), numbers) for name, numbers in named)
    return partitions_of((each, numbers) for each, numbers in pairs if each is not None)
