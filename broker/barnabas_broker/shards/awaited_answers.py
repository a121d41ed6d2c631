"""Answers that a coordinator has given, and that wait until what they tell of is committed.

They outlive the session in which they were given. When the leader's epoch ends nobody watches the
high watermark for them any more: they are adrift until it is known who leads in the next.
"""

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from barnabas_broker.partitions.partition import Partition
from barnabas_core.links.shard_message import ShardAnswer
from barnabas_core.wire.error_code import ErrorCode

if TYPE_CHECKING:
    from barnabas_broker.shards.shard_owner import Waiting


class _Awaited(NamedTuple):
    waiting: "Waiting"
    body: bytes
    depends_on: int
    timer: asyncio.TimerHandle


class AwaitedAnswers:
    """A `WriteWaiter` of its partition."""

    def __init__(self, partition: Partition, commit_timeout_s: float) -> None:
        self._partition = partition
        self._commit_timeout_s = commit_timeout_s
        self._awaited: dict[int, _Awaited] = {}
        """By token."""
        self._adrift: list[int] = []
        self._last_token = 0

    def add(self, waiting: "Waiting", answer: ShardAnswer) -> None:
        """Given at once if there is nothing to wait for."""
        body = bytes(answer.body)
        if answer.depends_on < self._partition.high_watermark:
            waiting.done(body)
            return
        self._last_token += 1
        loop, token = asyncio.get_running_loop(), self._last_token
        timer = loop.call_later(self._commit_timeout_s, self._on_late, token)
        self._awaited[token] = _Awaited(waiting, body, answer.depends_on, timer)
        self._partition.when_committed(answer.depends_on, self, token)

    def go_on(self) -> None:
        """The same broker leads: what they wait for is in its log as it was."""
        adrift, self._adrift = self._adrift, []
        for token in adrift:
            awaited = self._awaited.get(token)
            if awaited is None:
                continue
            if awaited.depends_on < self._partition.high_watermark:
                self.on_written(token)
            else:
                self._partition.when_committed(awaited.depends_on, self, token)

    def give_up(self) -> None:
        """Another broker leads."""
        adrift, self._adrift = self._adrift, []
        for token in adrift:
            self._refuse(token, ErrorCode.NOT_COORDINATOR)

    # --- from the partition

    def on_written(self, token: int) -> None:
        awaited = self._awaited.pop(token, None)
        if awaited is not None:
            awaited.timer.cancel()
            awaited.waiting.done(awaited.body)

    def on_write_failed(self, token: int, error: ErrorCode) -> None:
        if error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self._adrift.append(token)
        else:
            self._refuse(token, ErrorCode.NOT_COORDINATOR)

    def _on_late(self, token: int) -> None:
        """Too few replicas are in sync. What was decided stands: it may be committed yet."""
        self._refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _refuse(self, token: int, error: ErrorCode) -> None:
        awaited = self._awaited.pop(token, None)
        if awaited is not None:
            awaited.timer.cancel()
            awaited.waiting.done(error)
