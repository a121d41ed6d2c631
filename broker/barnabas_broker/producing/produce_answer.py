"""An answer to Produce that waits for its writes, but not for ever.

It is complete but for what comes of each write; a token is a place in `_waits`. A request with
acks=all has a time-out: partitions that are not committed by then are answered with
REQUEST_TIMED_OUT, though their records are in the log and may yet be committed.
"""

from typing import Final, TypeAlias

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.leader_hint import LeaderHints
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_core.log.append import OpenedAppend
from barnabas_core.log.error import AppendError
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_response import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
)

_LEADER_HINT_VERSION: Final = 10

Opened: TypeAlias = dict[tuple[str, int], OpenedAppend | AppendError]
"""What became of the batches that were looked into, by topic and partition."""


class ProduceAnswer(Deferred[ProduceResponse]):
    __slots__ = (
        "_context",
        "_hints",
        "_purgatory",
        "_view",
        "_waits",
        "_waits_for",
        "message",
        "opened",
        "timeout_ms",
    )

    def __init__(
        self,
        message: ProduceResponse,
        opened: Opened,
        view: ClusterView,
        context: RequestContext,
    ) -> None:
        super().__init__()
        self.opened = opened
        self.message = message
        self._view = view
        self._context = context
        self._hints: LeaderHints | None = None
        self._waits: list[tuple[PartitionProduceResponse, Partition] | None] = []
        self._waits_for = 0
        self._purgatory: Purgatory | None = None
        self.timeout_ms = 0

    @property
    def is_waiting(self) -> bool:
        return self._waits_for > 0

    def wait_written(
        self, partition: Partition, last_offset: int, answer: PartitionProduceResponse
    ) -> None:
        self._waits_for += 1
        self._waits.append((answer, partition))
        partition.when_written(last_offset, self, len(self._waits) - 1)

    def wait_committed(
        self, partition: Partition, last_offset: int, answer: PartitionProduceResponse
    ) -> None:
        self._waits_for += 1
        self._waits.append((answer, partition))
        partition.when_committed(last_offset, self, len(self._waits) - 1)

    def on_written(self, token: int) -> None:
        self._waits[token] = None
        self._waits_for -= 1
        if not self._waits_for:
            self._finish()

    def on_write_failed(self, token: int, error: ErrorCode) -> None:
        wait = self._waits[token]
        if wait is not None:
            response, partition = wait
            response.error_code = error
            response.base_offset = response.log_append_time_ms = response.log_start_offset = -1
            self.maybe_hint(response, partition.log.topic, partition)
        self.on_written(token)

    def _finish(self) -> None:
        if self._purgatory is not None:
            self._purgatory.forget(self)
        if self._hints is not None:
            self.name_leaders()
        self.resolve(self.message)

    # --- who leads instead (KIP-951)

    def maybe_hint(
        self, response: PartitionProduceResponse, topic: str, partition: Partition | None
    ) -> None:
        """Where a partition was asked for at the wrong broker, name the right one."""
        if response.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return
        if self._context.api_version < _LEADER_HINT_VERSION:
            return
        if self._hints is None:
            self._hints = LeaderHints(self._view, self._context.peer.listener)
        leader = self._hints.leader_of(topic, response.index, partition)
        response.current_leader = LeaderIdAndEpoch(*leader)

    def name_leaders(self) -> None:
        if self._hints is not None:
            nodes = self._hints.nodes.values()
            self.message.node_endpoints = [NodeEndpoint(*node) for node in nodes]

    # --- as an operation in the purgatory

    def start_timer(self, purgatory: Purgatory) -> None:
        self._purgatory = purgatory
        self.on_cancel(lambda: purgatory.forget(self))
        purgatory.wait(self, (), max(self.timeout_ms, 0))

    def is_satisfied(self, changed: Partition) -> bool:
        return False  # its partitions tell it by themselves

    def complete(self) -> None:
        """Its time is up."""
        for wait in self._waits:
            if wait is not None:
                wait[0].error_code = ErrorCode.REQUEST_TIMED_OUT
        self._waits = [None] * len(self._waits)
        # Never 0 again: the writes will still be told of.
        self._waits_for = -1
        self.name_leaders()
        self.resolve(self.message)
