"""Fetch (key 1), served v4-v18.

v4 isolation level; v5 log start offset; v7 sessions (KIP-227); v9 leader epoch; v11 rack, and the
preferred read replica (KIP-392): from here on a follower serves consumers too; v12 flexible, last
fetched epoch with a diverging epoch in the answer; v13 topic ids instead of names; v15 replica
state; v16 leader hints (KIP-951); v17, v18 for followers. The answer comes when `min_bytes` are
there, when `max_wait_ms` are over, or at once when a partition has an error or is better read
elsewhere. The first partition with anything gives at least one batch, however large; what does not
fit `max_bytes` after that comes with the next fetch.

A fetch with a replica id is refused: followers replicate by another way.
"""

from collections.abc import Awaitable
from typing import Final

from barnabas_broker.fetching.pending_fetch import Answers, PendingFetch
from barnabas_broker.fetching.reading import FetchParts
from barnabas_broker.fetching.session import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from barnabas_broker.fetching.session_fetch import SessionFetch
from barnabas_broker.fetching.session_keeper import SessionKeeper
from barnabas_broker.fetching.target_finder import TargetFinder
from barnabas_core.ports import Clock, Rng
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import FetchResponse

_FULL_EPOCHS: Final = (INITIAL_EPOCH, FINAL_EPOCH)


class FetchHandler:
    def __init__(self, parts: FetchParts, session_slots: int, clock: Clock, rng: Rng) -> None:
        self._parts = parts
        self._finder = TargetFinder(parts.partitions, parts.view)
        self.sessions = SessionKeeper(session_slots, self._finder, parts.purgatory, clock, rng)

    def handle(
        self, request: FetchRequest, context: RequestContext
    ) -> FetchResponse | Deferred[FetchResponse] | Awaitable[FetchResponse]:
        if request.replica_id >= 0 or request.replica_state.replica_id >= 0:
            return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
        if request.session_epoch not in _FULL_EPOCHS:
            return self._poll(request, context)
        if request.session_id != NO_SESSION:
            self.sessions.close(request.session_id)
        targets = self._finder.targets(request, context.api_version)
        open_session = None
        if request.session_epoch == INITIAL_EPOCH:

            def open_session(response: FetchResponse, answers: Answers) -> None:
                response.session_id = self.sessions.open(answers, request, context.api_version)

        return PendingFetch(self._parts, request, context, targets.values(), open_session).begin()

    def _poll(
        self, request: FetchRequest, context: RequestContext
    ) -> FetchResponse | Deferred[FetchResponse] | Awaitable[FetchResponse]:
        session = self.sessions.next(request, context.api_version)
        if isinstance(session, ErrorCode):
            return FetchResponse(error_code=session)
        if not session.targets:
            self.sessions.close(session.id)
            return FetchResponse()
        return SessionFetch(self._parts, request, context, session).begin()
