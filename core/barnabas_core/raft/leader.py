"""Leader: takes records in, answers fetches, and commits what a majority has on disk.

It leads until a newer epoch shows up, until a majority has not fetched for too long (check-quorum),
until it is told to resign, or until the record that removed it from the voters is committed.
"""

from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.message import (
    BeginQuorumEpochRequest,
    FetchResponse,
    VoteRequest,
)
from barnabas_core.raft.parked_fetch import ParkedFetch, Parking
from barnabas_core.raft.progress import ProgressTable, others_needed
from barnabas_core.raft.record import VotersChange
from barnabas_core.raft.request_tracker import FOREVER_MS
from barnabas_core.raft.state import State
from barnabas_core.raft.voter import Voter
from barnabas_core.wire.error_code import ErrorCode

if TYPE_CHECKING:
    from barnabas_core.raft.pending_change import PendingChange
    from barnabas_core.raft.quorum import Quorum


class Leader(State):
    __slots__ = ("_begin_at_ms", "_counted", "change", "epoch_start_offset", "parking", "progress")
    name = "leader"

    def __init__(self, epoch_start_offset: int, now_ms: int) -> None:
        self.epoch_start_offset = epoch_start_offset
        self.progress = ProgressTable(now_ms)
        self.parking = Parking()
        self.change: PendingChange | None = None
        self._begin_at_ms = now_ms
        self._counted = (-1, -1, -1)

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        return False

    def poll(self, quorum: "Quorum") -> None:
        if others_needed(quorum.history.voters, quorum.local.key) <= 0:
            # Always with its majority, so that it has a full timeout when others come to be needed.
            self.progress.on_majority(quorum.now_ms)
        self._advance_high_watermark(quorum)
        if self.change is not None and self.change.poll(quorum):
            self.change = None
        self._maybe_update_own_voter(quorum)
        self._answer_parked(quorum)
        if self._is_cut_off(quorum) or self._is_removed(quorum):
            quorum.become_resigned(self.successors(quorum))
        elif quorum.now_ms >= self._begin_at_ms:
            self._begin_epoch(quorum)

    def _advance_high_watermark(self, quorum: "Quorum") -> None:
        # Polled after every event, but few of them move anybody's log.
        basis = (
            self.progress.fetch_count,
            quorum.outbox.durable_end_offset,
            quorum.history.voters_offset,
        )
        if basis == self._counted:
            return
        self._counted = basis
        majority_end = self.progress.majority_end(
            quorum.history.voters, quorum.local.key, quorum.outbox.durable_end_offset
        )
        # Raft 5.4.2: an older epoch's record on a majority is committed only with one of our own.
        if majority_end > self.epoch_start_offset:
            quorum.advance_high_watermark(majority_end)

    def _maybe_update_own_voter(self, quorum: "Quorum") -> None:
        """Followers ask their leader for it; a leader whose endpoints changed asks nobody."""
        history = quorum.history
        if self.change is not None or not self.has_committed(quorum):
            return
        if history.kraft_version < 1 or history.voters_offset >= quorum.high_watermark:
            return
        recorded = history.voters.find(quorum.local.key)
        if recorded is not None and recorded != quorum.local.voter:
            voters = history.voters.replacing(quorum.local.voter)
            quorum.append_as_leader((), (VotersChange(voters),))

    def _quorum_deadline_ms(self, quorum: "Quorum") -> int:
        if others_needed(quorum.history.voters, quorum.local.key) <= 0:
            return FOREVER_MS
        return self.progress.quorum_seen_at_ms + quorum.config.check_quorum_timeout_ms

    def _is_cut_off(self, quorum: "Quorum") -> bool:
        return quorum.now_ms >= self._quorum_deadline_ms(quorum)

    def _is_removed(self, quorum: "Quorum") -> bool:
        return not quorum.is_voter and quorum.history.voters_offset < quorum.high_watermark

    def has_committed(self, quorum: "Quorum") -> bool:
        """A record of its own epoch is committed: the high watermark says all there is to say."""
        return quorum.high_watermark > self.epoch_start_offset

    def successors(self, quorum: "Quorum") -> tuple[ReplicaKey, ...]:
        """The other voters, the one with the longest log first."""
        others = [voter for voter in quorum.history.voters if not quorum.is_local(voter)]
        others.sort(key=lambda voter: (-self._end_of(voter), voter.node_id))
        return tuple(voter.key for voter in others)

    def _end_of(self, voter: Voter) -> int:
        progress = self.progress.of(voter)
        return 0 if progress is None else progress.end_offset

    def on_fetch(self, quorum: "Quorum", replica: ReplicaKey, offset: int) -> None:
        """The offset is in our log, with the epoch that the replica named."""
        self.progress.on_fetch(replica, offset, quorum.log.end_offset, quorum.now_ms)

    def on_heard(self, quorum: "Quorum", replica: ReplicaKey) -> None:
        voters = quorum.history.voters
        voter = voters.find(replica)
        if voter is not None:
            self.progress.on_heard(voter, voters, quorum.local.key, quorum.now_ms)

    def answer_fetch(self, quorum: "Quorum", fetch: ParkedFetch) -> None:
        request = fetch.request
        response = FetchResponse(
            request.correlation,
            ErrorCode.NONE,
            quorum.news(),
            quorum.high_watermark,
            quorum.log.read(request.fetch_offset, request.max_bytes),
        )
        quorum.send(fetch.source, response)

    def _answer_parked(self, quorum: "Quorum") -> None:
        end_offset = quorum.log.end_offset
        due = self.parking.take_due(end_offset, quorum.high_watermark, quorum.now_ms)
        for fetch in due:
            self.answer_fetch(quorum, fetch)

    def _begin_epoch(self, quorum: "Quorum") -> None:
        """Tell each voter that has not fetched lately who leads; the others know."""
        interval_ms = quorum.config.begin_quorum_epoch_interval_ms
        self._begin_at_ms = quorum.now_ms + interval_ms
        for voter in quorum.history.voters:
            progress = self.progress.of(voter)
            if progress is not None and progress.fetched_at_ms > quorum.now_ms - interval_ms:
                continue
            if quorum.can_ask(voter.node_id, BeginQuorumEpochRequest):
                self._tell(quorum, voter)
        expired_ms = quorum.now_ms - quorum.config.observer_session_ms
        self.progress.forget_silent(expired_ms, quorum.history.voters)

    def _tell(self, quorum: "Quorum", voter: Voter) -> None:
        node_id: NodeId = voter.node_id
        quorum.send(
            node_id,
            BeginQuorumEpochRequest(
                quorum.requests.start(node_id, BeginQuorumEpochRequest, quorum.now_ms),
                quorum.epoch,
                quorum.local.node_id,
                quorum.local.endpoints,
                voter.key,
            ),
        )

    def deadline_ms(self, quorum: "Quorum") -> int:
        change_ms = FOREVER_MS if self.change is None else self.change.deadline_ms
        quorum_ms = self._quorum_deadline_ms(quorum)
        return min(self._begin_at_ms, self.parking.deadline_ms(), quorum_ms, change_ms)

    def leave(self, quorum: "Quorum") -> None:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        for fetch in self.parking:
            response = FetchResponse(fetch.request.correlation, error, quorum.news())
            quorum.send(fetch.source, response)
        if self.change is not None:
            self.change.answer(quorum, error, "leadership was lost; the change may be committed")
