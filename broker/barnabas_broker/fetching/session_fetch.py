"""A poll of a fetch session: it looks at the session's active targets, and answers with news only.

While it waits, the session is told of changes, not the poll: nothing is registered for each poll.
"""

from collections.abc import Iterable

from barnabas_broker.fetching.pending_fetch import Answers, PendingFetch
from barnabas_broker.fetching.reading import FetchParts
from barnabas_broker.fetching.session import FetchSession
from barnabas_broker.fetching.target import FetchTarget
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData


class SessionFetch(PendingFetch):
    __slots__ = ("_epoch", "_session")

    def __init__(
        self,
        parts: FetchParts,
        request: FetchRequest,
        context: RequestContext,
        session: FetchSession,
    ) -> None:
        super().__init__(parts, request, context, ())
        self._session = session
        self._epoch = session.epoch

    def _current(self) -> Iterable[FetchTarget]:
        # A copy: a disk that fails while it is read makes more targets active.
        return list(self._session.active)

    @property
    def _may_be_empty(self) -> bool:
        return True  # a session has targets, if only such as have nothing to say

    def _wait(self, answers: Answers) -> Deferred[FetchResponse]:
        for target, data in answers:
            self._maybe_settle(target, data)
        self._answer = Deferred(self._cancel)
        self._session.waiting = self
        self._parts.purgatory.wait(self, (), self._request.max_wait_ms)
        return self._answer

    def _cancel(self) -> None:
        self._stop_waiting()
        super()._cancel()

    def _stop_waiting(self) -> None:
        if self._session.waiting is self:
            self._session.waiting = None

    def on_changed(self, target: FetchTarget) -> None:
        if self._is_satisfied_by(target):
            self._parts.purgatory.release(self)

    def complete(self) -> None:
        self._stop_waiting()
        super().complete()

    def _response(self, answers: Answers) -> FetchResponse:
        session = self._session
        if session.epoch != self._epoch:
            # The client went on without waiting for this answer, perhaps on another connection.
            error = ErrorCode.INVALID_FETCH_SESSION_EPOCH
            return FetchResponse(error_code=error, session_id=session.id)
        news: Answers = []
        for target, data in answers:
            if target.is_news(data):
                target.note(data)
                news.append((target, data))
            if data.records:
                session.put_last(target)
            else:
                self._maybe_settle(target, data)
        response = super()._response(news)
        response.session_id = session.id
        return response

    def _maybe_settle(self, target: FetchTarget, data: PartitionData) -> None:
        if not target.is_news(data) and target.is_settled(read_committed=self._read_committed):
            self._session.settle(target)
