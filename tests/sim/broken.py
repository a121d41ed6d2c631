"""Raft with one mistake each: what the simulator must find, or it proves nothing.

Each variant patches the product's code for as long as it is entered.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from unittest.mock import patch

from barnabas_core.raft import fetch
from barnabas_core.raft.leader import Leader
from barnabas_core.raft.progress import ProgressTable
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.raft_log import RaftLog, Valid
from barnabas_core.raft.ready import HardState, Outbox
from barnabas_core.raft.voter import VoterSet

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
    majority_end = ProgressTable.majority_end

    @contextmanager
    def variant() -> Iterator[None]:
        def advance(self: Leader, quorum: Quorum) -> None:
            end = majority_end(
                self.progress, quorum.history.voters, quorum.local.key, quorum.log.end_offset
            )
            if end > self.epoch_start_offset:
                quorum.advance_high_watermark(end)

        with patch.object(Leader, "_advance_high_watermark", advance):
            yield

    return variant()


def divergence_ignored() -> AbstractContextManager[object]:
    def always_valid(log: RaftLog, offset: int, last_epoch: int) -> Valid:
        return Valid()

    return patch.object(fetch, "locate", always_valid)


def votes_for_shorter_logs() -> AbstractContextManager[object]:
    decide_votes = Quorum.become_prospective

    @contextmanager
    def variant() -> Iterator[None]:
        from barnabas_core.raft import state, unattached
        from barnabas_core.raft.message import VoteRequest

        grants = state.grants_unbound

        def generous(quorum: Quorum, request: VoteRequest, *, up_to_date: bool) -> bool:
            return grants(quorum, request, up_to_date=True)

        assert decide_votes is Quorum.become_prospective
        with patch.object(unattached, "grants_unbound", generous):
            yield

    return variant()


VARIANTS: dict[str, Variant] = {
    variant.__name__: variant
    for variant in (
        vote_not_persisted,
        vote_sent_before_it_is_durable,
        fetch_before_it_is_durable,
        quorum_off_by_one,
        high_watermark_not_from_a_majority,
        unsynced_records_counted,
        divergence_ignored,
        votes_for_shorter_logs,
    )
}
