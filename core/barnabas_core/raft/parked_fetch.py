"""Fetches that found nothing new and wait at the leader until something is, or time is up."""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.message import FetchRequest
from barnabas_core.raft.request_tracker import FOREVER_MS


class ParkedFetch(NamedTuple):
    source: NodeId
    request: FetchRequest
    deadline_ms: int


class Parking:
    """One fetch per replica: a newer one means that the older answer is not waited for."""

    __slots__ = ("_fetches",)

    def __init__(self) -> None:
        self._fetches: dict[ReplicaKey, ParkedFetch] = {}

    def __iter__(self) -> Iterator[ParkedFetch]:
        return iter(self._fetches.values())

    def put(self, fetch: ParkedFetch) -> None:
        self._fetches[fetch.request.replica] = fetch

    def forget(self, replica: ReplicaKey) -> None:
        self._fetches.pop(replica, None)

    def take_due(self, end_offset: int, high_watermark: int, now_ms: int) -> list[ParkedFetch]:
        """Those that have waited long enough, or for which there is news (KIP-1166)."""
        if not self._fetches:
            return []
        due = [
            fetch
            for fetch in self._fetches.values()
            if fetch.deadline_ms <= now_ms
            or fetch.request.fetch_offset < end_offset
            or fetch.request.high_watermark < high_watermark
        ]
        for fetch in due:
            del self._fetches[fetch.request.replica]
        return due

    def deadline_ms(self) -> int:
        return min((fetch.deadline_ms for fetch in self), default=FOREVER_MS)
