"""A fetch from its request to its answer; in between it may wait in the purgatory."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from barnabas_broker.fetching.reading import NO_DIVERGENCE, FetchParts, TargetReader
from barnabas_broker.fetching.replica_selector import NO_REPLICA
from barnabas_broker.fetching.target import FetchTarget
from barnabas_broker.partitions.partition import Partition
from barnabas_core.log.error import LogOffline, OffsetOutOfRange
from barnabas_core.log.read import ReadPending
from barnabas_core.ports import DiskError
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)

_NOT_FINAL: Final = (ErrorCode.NONE, ErrorCode.OFFSET_NOT_AVAILABLE)

Answers = list[tuple[FetchTarget, PartitionData]]


class PendingFetch(TargetReader):
    """Of given targets. `on_answered` is told what goes into the answer, before it leaves."""

    __slots__ = (
        "_answer",
        "_available",
        "_by_partition",
        "_max_bytes",
        "_min_bytes",
        "_on_answered",
        "_request",
        "_targets",
    )

    def __init__(
        self,
        parts: FetchParts,
        request: FetchRequest,
        context: RequestContext,
        targets: Iterable[FetchTarget],
        on_answered: Callable[[FetchResponse, Answers], None] | None = None,
    ) -> None:
        super().__init__(parts, request, context)
        self._request = request
        self._targets = targets
        self._on_answered = on_answered
        self._max_bytes = min(request.max_bytes, parts.response_bytes_max)
        # More than the largest answer will never come.
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._available = 0
        self._answer: Deferred[FetchResponse] | None = None

    def begin(self) -> FetchResponse | Deferred[FetchResponse] | Awaitable[FetchResponse]:
        try:
            answers, must_wait = self._read()
        except ReadPending as pending:
            return self._begin_cold(pending)
        if must_wait:
            return self._wait(answers)
        return self._response(answers)

    async def _begin_cold(self, pending: ReadPending) -> FetchResponse:
        """What is being read is not in memory: find it in a thread, and do not wait for more."""
        while True:
            try:
                await self._parts.cold_reader.warm(pending)
            except DiskError:
                # Reading it once more, waiting or not, shows whose log it was.
                self._may_block = True
            try:
                return self._response(self._read()[0])
            except ReadPending as more:
                pending = more

    def _wait(self, _answers: Answers) -> Deferred[FetchResponse]:
        self._answer = Deferred(self._cancel)
        self._by_partition = {
            target.partition: target for target in self._targets if target.partition is not None
        }
        self._parts.purgatory.wait(self, list(self._by_partition), self._request.max_wait_ms)
        return self._answer

    def _cancel(self) -> None:
        self._parts.purgatory.forget(self)

    # -- as an operation in the purgatory

    def is_satisfied(self, changed: Partition) -> bool:
        return self._is_satisfied_by(self._by_partition[changed])

    def _is_satisfied_by(self, target: FetchTarget) -> bool:
        partition, wanted = target.partition, target.wanted
        if partition is None or not self.may_read(partition, wanted):
            return True
        try:
            size = len(self.read_log(partition, wanted, wanted.partition_max_bytes))
        except (ReadPending, LogOffline, OffsetOutOfRange, DiskError):
            return True  # reading it again will tell
        self._available += size - target.available
        target.available = size
        return self._available >= self._min_bytes

    def complete(self) -> None:
        assert self._answer is not None
        try:
            answers, _ = self._read()
        except ReadPending as pending:
            self._complete_cold(pending)
        else:
            self._answer.resolve(self._response(answers))

    def _complete_cold(self, pending: ReadPending) -> None:
        answer = self._answer
        assert answer is not None

        async def finish() -> None:
            answer.resolve(await self._begin_cold(pending))

        self._parts.cold_reader.start(finish())

    # -- reading

    def _read(self) -> tuple[Answers, bool]:
        """(the answers as of now, whether it is worth waiting for more)"""
        answers: Answers = []
        room = self._max_bytes
        total = 0
        is_final = False
        for target in self._current():
            data = self.read_target(target, room, is_first=not total)
            answers.append((target, data))
            size = len(data.records or b"")
            target.available = size
            total += size
            room = max(room - size, 0)
            if not size and _is_final(data):
                is_final = True
        self._available = total
        must_wait = (
            total < self._min_bytes
            and self._request.max_wait_ms > 0
            and not is_final
            and (bool(answers) or self._may_be_empty)
        )
        return answers, must_wait

    def _current(self) -> Iterable[FetchTarget]:
        return self._targets

    @property
    def _may_be_empty(self) -> bool:
        """Whether there is more to wait for than was read."""
        return False

    def _response(self, answers: Answers) -> FetchResponse:
        response = FetchResponse()
        if self._on_answered is not None:
            self._on_answered(response, answers)
        topic: str | bytes | None = None
        for target, data in answers:
            if target.key[0] != topic:
                topic = target.key[0]
                partitions: list[PartitionData] = []
                response.responses.append(
                    FetchableTopicResponse(target.name, target.topic_id, partitions)
                )
            partitions.append(data)
        if self._hints is not None:
            response.node_endpoints = self.endpoints()
        return response


def _is_final(data: PartitionData) -> bool:
    """Whether the client should know at once."""
    return (
        data.error_code not in _NOT_FINAL
        or data.diverging_epoch is not NO_DIVERGENCE
        or data.preferred_read_replica != NO_REPLICA
    )
