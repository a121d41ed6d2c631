"""What topics the members of a group of consumers subscribe to, as far as their metadata says."""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from barnabas_core.wire.codec import decoder
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

CONSUMER: Final = "consumer"
"""The protocol type whose metadata can be read here."""

_VERSION: Final = Struct(">h")


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Of all members; None if one of them cannot be read."""
    topics: set[str] = set()
    try:
        for one in metadata:
            topics.update(_topics(one))
    except DecodeError:
        return None
    return frozenset(topics)


def _topics(metadata: bytes) -> list[str]:
    if len(metadata) < _VERSION.size:
        raise DecodeError("a subscription without a version")
    # Every version begins as version 0 does: read as that, it does not matter how new a client is.
    message, _ = decoder(ConsumerProtocolSubscription, 0)(metadata, _VERSION.size)
    return message.topics
