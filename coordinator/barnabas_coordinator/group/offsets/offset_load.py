"""The quick way from a record's bytes to a committed offset, without messages in between.

How long a shard takes to load is how long its groups wait after a failure, and nearly all of its
records are offsets of one shape: version 4, with a topic id and little metadata. Whatever is not of
this shape, or is not sound, is left to the codec.
"""

from struct import error
from typing import Final

from barnabas_coordinator.group.offsets.offset_store import NEVER, OffsetStore
from barnabas_coordinator.shard.offset_layout import (
    HEAD,
    KEY_BYTES_MAX,
    KEY_HEAD,
    KIND,
    LENGTH,
    METADATA_LENGTH_MAX,
    PARTITION,
    TAGS,
    TAIL,
    VERSION,
)
from barnabas_core.ports.disk import Buffer

_KINDS: Final = (KIND, 0)


def load_offset(offsets: OffsetStore, key: Buffer, value: Buffer | None) -> bool:
    """Whether it was one of these; then it is committed, outside of any transaction."""
    if value is None or len(key) > KEY_BYTES_MAX:
        return False
    try:
        version, offset, leader_epoch, length = HEAD.unpack_from(value)
        tail = HEAD.size + length - 1
        if (
            version != VERSION
            or not 0 < length <= METADATA_LENGTH_MAX
            or len(value) != tail + TAIL.size
        ):
            return False
        at_ms, tag_count, tag, size, topic_id = TAIL.unpack_from(value, tail)
        kind, length = KEY_HEAD.unpack_from(key)
        topic_at = KEY_HEAD.size + length + LENGTH.size
        (length,) = LENGTH.unpack_from(key, topic_at - LENGTH.size)
        end = topic_at + length
        if (tag_count, tag, size) != TAGS or kind not in _KINDS or len(key) != end + 4:
            return False
        metadata = str(value[HEAD.size : tail], "utf-8") if tail > HEAD.size else ""
        group = str(key[KEY_HEAD.size : topic_at - LENGTH.size], "utf-8")
        topic = str(key[topic_at:end], "utf-8")
        (partition,) = PARTITION.unpack_from(key, end)
    except (error, UnicodeDecodeError):
        return False
    committed = (offset, leader_epoch, metadata, at_ms, NEVER, offsets.shared_id(topic_id))
    offsets.put_committed(group, topic, partition, committed)
    return True
