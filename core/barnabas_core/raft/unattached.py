"""Unattached: knows an epoch but follows nobody. A voter waits for its turn to stand."""

from typing import TYPE_CHECKING

from barnabas_core.raft.fetcher import fetch_from_anyone
from barnabas_core.raft.message import VoteRequest
from barnabas_core.raft.request_tracker import FOREVER_MS
from barnabas_core.raft.state import State, grants_unbound

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Unattached(State):
    __slots__ = ("_election_at_ms",)
    name = "unattached"

    def __init__(self, election_at_ms: int) -> None:
        self._election_at_ms = election_at_ms

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        return grants_unbound(quorum, request, up_to_date=up_to_date)

    def poll(self, quorum: "Quorum") -> None:
        if quorum.may_stand and quorum.now_ms >= self._election_at_ms:
            quorum.become_prospective()
        else:
            # A leader tells its voters; everyone else has to ask around (KIP-853).
            fetch_from_anyone(quorum)

    def deadline_ms(self, quorum: "Quorum") -> int:
        return self._election_at_ms if quorum.may_stand else FOREVER_MS

    def election_deadline_ms(self) -> int | None:
        return self._election_at_ms

    def on_vote_granted(self, election_at_ms: int) -> None:
        """Who has voted gives its candidate the time to win."""
        self._election_at_ms = election_at_ms
