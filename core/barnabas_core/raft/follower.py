"""Follower: fetches from the leader of its epoch, whether it votes or only observes."""

from typing import TYPE_CHECKING

from barnabas_core.raft.fetcher import fetch_from, fetch_from_anyone
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import FetchSnapshotRequest, VoteRequest
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.raft.state import State
from barnabas_core.raft.voter_upkeep import VoterUpkeep

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Download:
    """A snapshot on its way from the leader."""

    __slots__ = ("position", "snapshot_id")

    def __init__(self, snapshot_id: SnapshotId) -> None:
        self.snapshot_id = snapshot_id
        self.position = 0


class Follower(State):
    __slots__ = (
        "_fetch_deadline_ms",
        "_upkeep",
        "download",
        "has_fetched",
        "leader_high_watermark",
        "leader_id",
    )
    name = "follower"

    def __init__(self, leader_id: NodeId, fetch_deadline_ms: int, upkeep: VoterUpkeep) -> None:
        self.leader_id = leader_id
        self.has_fetched = False
        self.leader_high_watermark = 0
        self.download: Download | None = None
        self._fetch_deadline_ms = fetch_deadline_ms
        self._upkeep = upkeep

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        # KIP-996: who has heard its leader would not elect another.
        return request.pre_vote and up_to_date and not self.has_fetched

    def poll(self, quorum: "Quorum") -> None:
        quorum.advance_high_watermark(
            min(self.leader_high_watermark, quorum.outbox.durable_end_offset)
        )
        if quorum.now_ms >= self._fetch_deadline_ms:
            if quorum.may_stand:
                quorum.become_prospective()
                return
            fetch_from_anyone(quorum)
        self._fetch(quorum)
        self._upkeep.poll(quorum, self.leader_id)

    def _fetch(self, quorum: "Quorum") -> None:
        if self.download is None:
            fetch_from(quorum, self.leader_id)
        elif quorum.can_ask(self.leader_id, FetchSnapshotRequest):
            self._fetch_snapshot(quorum, self.download)

    def _fetch_snapshot(self, quorum: "Quorum", download: Download) -> None:
        quorum.send(
            self.leader_id,
            FetchSnapshotRequest(
                quorum.requests.start(self.leader_id, FetchSnapshotRequest, quorum.now_ms),
                quorum.epoch,
                quorum.local.key,
                download.snapshot_id,
                download.position,
                quorum.config.snapshot_max_bytes,
            ),
        )

    def deadline_ms(self, quorum: "Quorum") -> int:
        upkeep_ms = self._upkeep.deadline_ms
        if quorum.now_ms >= self._fetch_deadline_ms:
            return upkeep_ms
        return min(self._fetch_deadline_ms, upkeep_ms)

    def election_deadline_ms(self) -> int | None:
        return self._fetch_deadline_ms

    def on_leader_heard(self, quorum: "Quorum") -> None:
        self.has_fetched = True
        self._fetch_deadline_ms = quorum.fetch_timeout_at_ms()

    def on_leader_resigned(self, election_at_ms: int) -> None:
        """The leader let go: stand at the given time, and let others stand before (KIP-595)."""
        self.has_fetched = False
        self._fetch_deadline_ms = min(self._fetch_deadline_ms, election_at_ms)
