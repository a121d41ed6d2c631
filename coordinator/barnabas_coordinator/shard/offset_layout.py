"""The bytes of a committed offset, as nearly all of them are: version 4, a topic id, no long text.

A shard is millions of these records, and a busy one writes thousands in a second: they go from and
to bytes without the codec. Whatever is not of this shape is left to it.
"""

from functools import lru_cache
from struct import Struct
from typing import Final

from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from barnabas_core.wire.schema import ZERO_UUID, Message

VERSION: Final = 4
KIND: Final = 1
KEY_HEAD: Final = Struct(">hH")
"""Kind, length of the group's name."""
LENGTH: Final = Struct(">H")
PARTITION: Final = Struct(">i")
HEAD: Final = Struct(">hqiB")
"""Version, offset, leader epoch, length of the metadata and one."""
TAIL: Final = Struct(">qBBB16s")
"""Commit time; one tag, the first, of 16 bytes: the topic id."""
TAGS: Final = (1, 0, 16)
METADATA_LENGTH_MAX: Final = 0x7F
"""Of the metadata and one: above it takes two bytes."""
KEY_BYTES_MAX: Final = 0x7FFF
"""Lengths are signed: in a key of this size none is taken for a large one."""
_REMEMBERED_NAMES: Final = 64


def offset_bytes(key: Message, value: Message | None) -> tuple[bytes, bytes] | None:
    """(key, value); None: it is not of this shape."""
    if not isinstance(key, OffsetCommitKey) or not isinstance(value, OffsetCommitValue):
        return None
    if value.expire_timestamp != -1 or value.topic_id == ZERO_UUID or value.unknown_tags:
        return None
    names, metadata = _names(key.group, key.topic), value.metadata.encode()
    if names is None or len(metadata) >= METADATA_LENGTH_MAX:
        return None
    return (
        names + PARTITION.pack(key.partition),
        b"".join(
            (
                HEAD.pack(VERSION, value.offset, value.leader_epoch, len(metadata) + 1),
                metadata,
                TAIL.pack(value.commit_timestamp, *TAGS, value.topic_id),
            )
        ),
    )


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _names(group: str, topic: str) -> bytes | None:
    """A key up to its partition, which many commits have in common; None: it is too long."""
    group_bytes, topic_bytes = group.encode(), topic.encode()
    if len(group_bytes) + len(topic_bytes) >= KEY_BYTES_MAX:
        return None
    return b"".join(
        (
            KEY_HEAD.pack(KIND, len(group_bytes)),
            group_bytes,
            LENGTH.pack(len(topic_bytes)),
            topic_bytes,
        )
    )
