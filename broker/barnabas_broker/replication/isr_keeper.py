"""Who is in sync, as this broker's partitions see it: proposed to the controller (AlterPartition).

Proposals that come up while a request is under way go together in the next. One of which nobody
knows whether it was carried out stays as it is, counted with, until the metadata tells: the
controller may hold a replica for in sync that this leader would not wait for.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.leadership import Leadership
from barnabas_broker.partitions.partition import Partition
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Call, LinkError
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.alter_partition_response import AlterPartitionResponse
from barnabas_core.wire.messages.alter_partition_response import PartitionData as Decided

_TIMEOUT_MS: Final = 10_000
_RETRY_S: Final = 0.2
_REQUEST_COUNT_MAX: Final = 2_000
# The controller has looked at it and said no: what was proposed is not so, and will not be.
_REJECTED: Final = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
# Something has changed that this broker will hear of: until then it counts with what it proposed.
_OUTDATED: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
)


class IsrParts(NamedTuple):
    client: ControllerClient
    view: ClusterView
    clock: Clock
    log: EventLog
    broker_epoch: Callable[[], int]
    lag_ms_max: int


class _Proposal(NamedTuple):
    partition: Partition
    leadership: Leadership
    partition_epoch: int
    isr: tuple[int, ...]

    @property
    def is_current(self) -> bool:
        leadership = self.leadership
        return (
            self.partition.leadership is leadership
            and leadership.proposed is self.isr
            and leadership.partition_epoch == self.partition_epoch
        )


class IsrKeeper:
    def __init__(self, on: IsrParts) -> None:
        self._on = on
        self._complaints = FloodLimit(on.log, on.clock)
        self._waiting: list[_Proposal] = []
        self._has_work = asyncio.Event()
        self.shrink_count = 0
        self.expand_count = 0

    def look_at(self, partition: Partition) -> None:
        """Propose another ISR if the present one is wrong."""
        leadership = partition.leadership
        if leadership is None or partition.log.is_offline:
            return
        log = partition.log
        isr = leadership.decide_isr(
            (log.log_end_offset, log.high_watermark),
            self._on.clock.monotonic_ms(),
            self._on.lag_ms_max,
            lambda broker_id: self._is_eligible(leadership, broker_id),
        )
        if isr is None:
            return
        self._on.log.info(
            "proposing another ISR",
            partition=f"{log.topic}-{log.partition}",
            before=list(leadership.isr),
            after=list(isr),
        )
        leadership.proposed = isr
        self._waiting.append(_Proposal(partition, leadership, leadership.partition_epoch, isr))
        self._has_work.set()

    def _is_eligible(self, leadership: Leadership, broker_id: int) -> bool:
        """Live, not leaving, and the same life of it that replicates (KIP-903)."""
        broker = self._on.view.image.cluster.brokers.get(broker_id)
        progress = leadership.progress(broker_id)
        return (
            broker is not None
            and broker.is_active
            and progress is not None
            and progress.broker_epoch == broker.epoch
        )

    async def run(self) -> None:
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                now, later = waiting[:_REQUEST_COUNT_MAX], waiting[_REQUEST_COUNT_MAX:]
                self._waiting = later + self._waiting
                again = await self._propose([one for one in now if one.is_current])
                if again:
                    self._waiting += again
                    await asyncio.sleep(_RETRY_S)

    async def _propose(self, proposals: list[_Proposal]) -> list[_Proposal]:
        """Those that are to be tried again."""
        if not proposals:
            return []
        version = API_BY_KEY[ApiKey.ALTER_PARTITION].max_version
        body = encode(self._request(proposals), version)
        call = Call(ApiKey.ALTER_PARTITION, version, body)
        try:
            # Twice does no harm: the partition epoch of the second has passed.
            answer = await self._on.client.call(call, _TIMEOUT_MS, is_idempotent=True)
        except LinkError as error:
            self._complaints.warning("no controller hears of the ISR", reason=str(error))
            return proposals
        response = decode(AlterPartitionResponse, version, bytes(answer))
        if response.error_code:
            error_name = ErrorCode(response.error_code).name
            self._complaints.warning("ISR not changed", error=error_name)
            return proposals
        decided = {
            (topic.topic_id, one.partition_index): one
            for topic in response.topics
            for one in topic.partitions
        }
        return [one for one in proposals if self._is_open(one, decided.get(_key(one)))]

    def _request(self, proposals: Sequence[_Proposal]) -> AlterPartitionRequest:
        topics: dict[bytes, TopicData] = {}
        for one in proposals:
            log = one.partition.log
            topic = topics.setdefault(log.topic_id, TopicData(log.topic_id))
            topic.partitions.append(
                PartitionData(
                    partition_index=log.partition,
                    leader_epoch=one.partition.leader_epoch,
                    new_isr_with_epochs=[self._member(one.leadership, it) for it in one.isr],
                    partition_epoch=one.partition_epoch,
                )
            )
        node_id = self._on.view.node_id
        return AlterPartitionRequest(node_id, self._on.broker_epoch(), list(topics.values()))

    def _member(self, leadership: Leadership, broker_id: int) -> BrokerState:
        if broker_id == self._on.view.node_id:
            return BrokerState(broker_id, self._on.broker_epoch())
        progress = leadership.progress(broker_id)
        return BrokerState(broker_id, -1 if progress is None else progress.broker_epoch)

    def _is_open(self, proposal: _Proposal, decided: Decided | None) -> bool:
        """Take the controller's word for one; True: it is to be asked again."""
        if decided is None or not proposal.is_current:
            return False
        error = ErrorCode(decided.error_code)
        leadership, partition = proposal.leadership, proposal.partition
        if error is ErrorCode.NONE:
            if decided.leader_epoch == partition.leader_epoch:
                self._count(leadership.isr, tuple(decided.isr))
                leadership.decided(tuple(decided.isr), decided.partition_epoch)
                partition.advance()
            return False
        self._complaints.warning("an ISR was not taken", error=error.name)
        if error in _REJECTED:
            leadership.refused(proposal.partition_epoch)
            return False
        return error not in _OUTDATED

    def _count(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self.expand_count += any(member not in before for member in after)
        self.shrink_count += any(member not in after for member in before)


def _key(proposal: _Proposal) -> tuple[bytes, int]:
    log = proposal.partition.log
    return log.topic_id, log.partition
