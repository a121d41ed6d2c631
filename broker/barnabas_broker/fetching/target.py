"""One partition of a fetch: what the client wants of it, and what it was last told."""

from typing import TYPE_CHECKING, TypeAlias

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition
from barnabas_core.wire.messages.fetch_response import PartitionData

if TYPE_CHECKING:
    from barnabas_broker.partitions.partition import Partition

TargetKey: TypeAlias = tuple[str | bytes, int]
"""Topic, by name or by id as the client's version has it, and partition."""
UNKNOWN_OFFSET = -1


class FetchTarget:
    __slots__ = (
        "available",
        "error",
        "high_watermark",
        "key",
        "log_start_offset",
        "name",
        "partition",
        "topic_id",
        "wanted",
    )

    def __init__(self, key: TargetKey, name: str, topic_id: bytes, wanted: FetchPartition) -> None:
        self.key = key
        self.name = name
        """Of the topic; empty if there is no topic of that id."""
        self.topic_id = topic_id
        self.wanted = wanted
        self.partition: Partition | None = None
        self.error = ErrorCode.NONE
        """Why there is no partition."""
        self.available = 0
        """Bytes it had when it was last looked at."""
        # What the client knows of it, if it has a session.
        self.high_watermark = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET

    def is_news(self, data: PartitionData) -> bool:
        """Whether a client with a session has to be told (KIP-227)."""
        return (
            bool(data.error_code)
            or bool(data.records)
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start_offset
            or data.preferred_read_replica >= 0
            or data.diverging_epoch.epoch >= 0
        )

    def note(self, data: PartitionData) -> None:
        """The client is being told."""
        # After an error the next answer is news, whatever it says.
        self.high_watermark = UNKNOWN_OFFSET if data.error_code else data.high_watermark
        self.log_start_offset = data.log_start_offset

    def is_settled(self, *, read_committed: bool) -> bool:
        """Whether an answer without it would be right, now and until the partition changes."""
        partition = self.partition
        if partition is None:
            return False
        log = partition.log
        return (
            self.high_watermark == log.high_watermark
            and self.log_start_offset == log.log_start_offset
            and self.wanted.fetch_offset >= partition.visible_end(read_committed=read_committed)
        )
