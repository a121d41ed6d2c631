"""What the groups of a process have done, counted: plain additions, shared by all its shards.

Most of it is seen in what was decided, so that no part has to count for itself.
"""

from collections.abc import Iterable
from typing import Final

from barnabas_coordinator.group.group_state import GroupType
from barnabas_coordinator.shard.decision import Decision
from barnabas_core.wire.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey

_SOON_COUNT_MAX: Final = 500
"""Members in a second that may be told to come again sooner than configured."""


class GroupCounts:
    __slots__ = ("_soon", "commits", "deletions", "expirations", "rebalances", "requests")

    def __init__(self) -> None:
        self.requests: dict[int, int] = {}
        """By api key."""
        self.commits = 0
        """Offsets, not requests; those of transactions too."""
        self.deletions = 0
        self.expirations = 0
        self.rebalances = {GroupType.CLASSIC: 0, GroupType.CONSUMER: 0}
        """Generations that were completed; group epochs that began."""
        self._soon = (0, 0)
        """(second, members that were told in it to come soon)"""

    def on_request(self, api_key: int, decisions: Iterable[Decision]) -> None:
        self.requests[api_key] = self.requests.get(api_key, 0) + 1
        self.deletions += self._take(decisions)

    def on_timer(self, decisions: Iterable[Decision]) -> None:
        self.expirations += self._take(decisions)

    def on_other(self, decisions: Iterable[Decision]) -> None:
        """Topics are gone, say."""
        self.deletions += self._take(decisions)

    def may_come_soon(self, now_ms: int) -> bool:
        """One more member. Thousands of groups may begin at once: what that costs is bounded."""
        second, count = self._soon
        if second != now_ms // 1000:
            second, count = now_ms // 1000, 0
        self._soon = (second, count + 1)
        return count < _SOON_COUNT_MAX

    def _take(self, decisions: Iterable[Decision]) -> int:
        """How many offsets were deleted."""
        deleted = 0
        for decision in decisions:
            for key, value in decision.records:
                if isinstance(key, OffsetCommitKey):
                    if value is None:
                        deleted += 1
                    else:
                        self.commits += 1
                elif value is not None and isinstance(key, ConsumerGroupMetadataKey):
                    self.rebalances[GroupType.CONSUMER] += 1
        return deleted
