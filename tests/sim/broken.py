"""Raft with one mistake each: what the simulator must find, or it proves nothing.

Each variant patches the product's code for as long as it is entered.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from unittest.mock import patch

from barnabas_core.raft import fetch, state, unattached, voter_change
from barnabas_core.raft.leader import Leader
from barnabas_core.raft.message import VoteRequest
from barnabas_core.raft.progress import ProgressTable
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.raft_log import RaftLog, Valid
from barnabas_core.raft.ready import HardState, Outbox
from barnabas_core.raft.voter import VoterSet
from barnabas_core.wire.error_code import ErrorCode

Variant = Callable[[], AbstractContextManager[object]]


def vote_not_persisted() -> AbstractContextManager[object]:
    put = Outbox.put_hard_state

    def without_vote(self: Outbox, hard_state: HardState) -> None:
        put(self, replace(hard_state, voted=None))

    return patch.object(Outbox, "put_hard_state", without_vote)


def vote_sent_before_it_is_durable() -> AbstractContextManager[object]:
    return patch.object(Outbox, "hard_state_is_durable", property(lambda _: True))


def fetch_before_it_is_durable() -> AbstractContextManager[object]:
    return patch.object(Outbox, "is_durable", property(lambda _: True))


def quorum_off_by_one() -> AbstractContextManager[object]:
    return patch.object(VoterSet, "majority", property(lambda self: max(1, len(self) // 2)))


def high_watermark_not_from_a_majority() -> AbstractContextManager[object]:
    def local_end(_: ProgressTable, __: VoterSet, ___: object, local_end: int) -> int:
        return local_end

    return patch.object(ProgressTable, "majority_end", local_end)


def unsynced_records_counted() -> AbstractContextManager[object]:
    def advance(self: Leader, quorum: Quorum) -> None:
        voters, end_offset = quorum.history.voters, quorum.log.end_offset
        majority_end = self.progress.majority_end(voters, quorum.local.key, end_offset)
        if majority_end > self.epoch_start_offset:
            quorum.advance_high_watermark(majority_end)

    return patch.object(Leader, "_advance_high_watermark", advance)


def older_epochs_committed_by_count() -> AbstractContextManager[object]:
    def advance(self: Leader, quorum: Quorum) -> None:
        voters, end_offset = quorum.history.voters, quorum.outbox.durable_end_offset
        majority_end = self.progress.majority_end(voters, quorum.local.key, end_offset)
        quorum.advance_high_watermark(majority_end)

    return patch.object(Leader, "_advance_high_watermark", advance)


def an_epoch_led_again_after_a_restart() -> AbstractContextManager[object]:
    def start(self: Quorum, stored: HardState | None) -> None:
        self.hard = stored or HardState()
        self.state = unattached.Unattached(self.now_ms)
        if self.hard.leader_id == self.local.node_id:
            self.become_leader(())

    return patch.object(Quorum, "start", start)


def divergence_ignored() -> AbstractContextManager[object]:
    def always_valid(log: RaftLog, offset: int, last_epoch: int) -> Valid:
        return Valid()

    return patch.object(fetch, "locate", always_valid)


def votes_for_shorter_logs() -> AbstractContextManager[object]:
    grants = state.grants_unbound

    def generous(quorum: Quorum, request: VoteRequest, *, up_to_date: bool) -> bool:
        return up_to_date or grants(quorum, request, up_to_date=True)

    return patch.object(unattached, "grants_unbound", generous)


def two_changes_at_a_time() -> AbstractContextManager[object]:
    def leader_for(quorum: Quorum, _: object) -> Leader:
        if quorum.leader is None:
            raise voter_change._Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return quorum.leader

    return patch.object(voter_change, "_leader_for", leader_for)


VARIANTS: dict[str, Variant] = {
    variant.__name__: variant
    for variant in (
        vote_not_persisted,
        vote_sent_before_it_is_durable,
        fetch_before_it_is_durable,
        quorum_off_by_one,
        high_watermark_not_from_a_majority,
        unsynced_records_counted,
        an_epoch_led_again_after_a_restart,
        divergence_ignored,
        votes_for_shorter_logs,
        two_changes_at_a_time,
    )
}

RARE_VARIANTS: dict[str, Variant] = {
    # Raft's figure 8: three leaders must die in a row, each at the right moment.
    older_epochs_committed_by_count.__name__: older_epochs_committed_by_count,
}
