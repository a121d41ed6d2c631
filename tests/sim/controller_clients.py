"""Who asks controllers for things: administrators and brokers, as far as a controller sees them.

They use the product's own client of the active controller and its metadata feed; what they asked
for and were told goes into the ledger.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.metadata_feed import FeedConfig, MetadataFeed
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.metadata.feature import FEATURES
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.ports.link import (
    Address,
    Call,
    CallRefused,
    Identity,
    LinkError,
    LinkFull,
    NotSent,
    Origin,
    Purpose,
)
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from barnabas_core.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from barnabas_core.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.alter_partition_response import AlterPartitionResponse
from barnabas_core.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from barnabas_core.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from barnabas_core.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas_core.wire.messages.broker_registration_response import BrokerRegistrationResponse
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from barnabas_core.wire.messages.delete_topics_response import DeleteTopicsResponse
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.schema import Message
from tests.sim.controller_ledger import Ledger
from tests.sim.controller_truth import Truth
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

M = TypeVar("M", bound=Message)

TIMEOUT_MS = 3_000
HEARTBEAT_MS = 300
TOLD_LATER = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
FEED = FeedConfig(
    fetch_bytes=2_000, wait_ms=300, timeout_ms=1_000, behind_ms_max=1_500, retry_ms=50
)


class NotDone(Exception):
    """For certain."""


class Unknown(Exception):
    """Perhaps it was done."""


class Asker:
    def __init__(self, client: ControllerClient, origin: Origin, ledger: Ledger) -> None:
        self._client = client
        self._origin = origin
        self._ledger = ledger

    async def ask(self, request: Message, answer: type[M], *, is_idempotent: bool = False) -> M:
        key = type(request).KEY
        assert key is not None
        version = API_BY_KEY[key].max_version
        call = Call(key, version, encode(request, version), self._origin)
        try:
            body = await self._client.call(call, TIMEOUT_MS, is_idempotent=is_idempotent)
        except (NotSent, CallRefused, LinkFull) as error:
            if is_idempotent:
                self._ledger.count.unknown += 1
                raise Unknown from error
            raise NotDone(repr(error)) from error
        except LinkError as error:
            self._ledger.count.unknown += 1
            raise Unknown from error
        return decode(answer, version, bytes(body))

    def check_code(self, code: int) -> None:
        if code in TOLD_LATER:
            self._ledger.count.unknown += 1
            raise Unknown(ErrorCode(code).name)
        if code != ErrorCode.NONE:
            raise NotDone(ErrorCode(code).name)


@dataclass(slots=True)
class Scene:
    """What all clients of a run share."""

    cluster_id: str
    controllers: Sequence[Address]
    truth: Truth
    ledger: Ledger
    broker_id: int
    """Of one of the brokers."""
    topic_count: int = 0


def forwarding_client(machine: SimMachine, scene: Scene) -> ControllerClient:
    """As if through one of the brokers: only registered ones may forward."""
    identity = Identity(scene.cluster_id, scene.broker_id, "broker", machine.rng.randbytes(16))
    links = StreamLinks(machine.network, identity, machine.clock, machine.log)
    addresses = list(scene.controllers)
    machine.rng.shuffle(addresses)
    return ControllerClient(links, addresses, Purpose.FORWARD, machine.clock)


# --- administrators


class Administrator:
    """Creates topics, changes them, deletes some: one thing after the other."""

    def __init__(self, machine: SimMachine, scene: Scene, number: int) -> None:
        self._machine = machine
        self._scene = scene
        self._ledger = scene.ledger
        self._number = number
        client = forwarding_client(machine, scene)
        self._asker = Asker(client, Origin("User:admin", "host", "sim"), scene.ledger)
        self._mine: list[str] = []
        self._values = 0

    async def run(self) -> None:
        rng = self._machine.rng
        while True:
            draw = rng.randrange(10)
            if draw < 5 or not self._mine:
                await self._create()
            elif draw < 8:
                await self._configure(self._mine[rng.randrange(len(self._mine))])
            else:
                await self._delete(self._mine.pop(rng.randrange(len(self._mine))))
            await asyncio.sleep(rng.randrange(200) / 1000)

    async def _create(self) -> None:
        rng = self._machine.rng
        self._scene.topic_count += 1
        name = f"topic-{self._number}-{self._scene.topic_count}"
        topic = CreatableTopic(name, 1 + rng.randrange(3), 1 + rng.randrange(2))
        self._ledger.create_asked(name)
        try:
            answer = await self._asker.ask(CreateTopicsRequest([topic]), CreateTopicsResponse)
            self._asker.check_code(answer.topics[0].error_code)
        except NotDone as why:
            self._ledger.create_refused(name, why)
        except Unknown:
            pass
        else:
            self._ledger.create_done(name, answer.topics[0].topic_id)
            self._mine.append(name)

    async def _configure(self, name: str) -> None:
        self._values += 1
        value = str(1_000_000 + self._values)
        config = AlterableConfig("retention.ms", 0, value)
        request = IncrementalAlterConfigsRequest(
            [AlterConfigsResource(TOPIC_RESOURCE, name, [config])]
        )
        self._ledger.config_asked(name, value)
        try:
            answer = await self._asker.ask(request, IncrementalAlterConfigsResponse)
            self._asker.check_code(answer.responses[0].error_code)
        except NotDone as why:
            self._ledger.config_refused(name, value, why)
        except Unknown:
            # It may come later than whatever is asked next.
            self._mine.remove(name)
        else:
            self._ledger.config_done(name, value)

    async def _delete(self, name: str) -> None:
        self._ledger.delete_asked(name)
        try:
            answer = await self._asker.ask(
                DeleteTopicsRequest([DeleteTopicState(name)]), DeleteTopicsResponse
            )
            self._asker.check_code(answer.responses[0].error_code)
        except NotDone as why:
            self._ledger.delete_refused(name, why)
        except Unknown:
            pass
        else:
            self._ledger.delete_done(name)


# --- brokers


class FeedSink(MetadataLoader):
    """What a broker hears is committed, so it is the truth, and what it makes of it likewise."""

    def __init__(self, broker_id: int, truth: Truth) -> None:
        super().__init__(lambda _, image: truth.on_image(broker_id, image))
        self._broker_id = broker_id
        self._truth = truth
        self._in_snapshot = False

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        self._in_snapshot = True
        super().on_snapshot_begin(snapshot_id)

    def on_batch(self, batch: CommittedBatch) -> None:
        if not self._in_snapshot:
            self._truth.on_batch(self._broker_id, batch)
        super().on_batch(batch)

    def on_snapshot_end(self) -> None:
        self._in_snapshot = False
        super().on_snapshot_end()


class Broker:
    """The half of a broker that controllers see: it registers, beats, and leads on paper."""

    def __init__(self, machine: SimMachine, scene: Scene) -> None:
        self._machine = machine
        self._scene = scene
        self._ledger = scene.ledger
        self._id = machine.number
        links = machine.links(scene.cluster_id, "broker")
        self._incarnation = links.identity.incarnation_id
        addresses = list(scene.controllers)
        machine.rng.shuffle(addresses)
        client = ControllerClient(links, addresses, Purpose.MEMBERSHIP, machine.clock)
        self._asker = Asker(client, Origin(), scene.ledger)
        self._sink = FeedSink(self._id, scene.truth)
        self._feed = MetadataFeed(links, addresses, self._sink, machine.clock, machine.log, FEED)
        self._epoch = -1

    @property
    def feed_offset(self) -> int:
        return self._feed.offset

    async def run(self) -> None:
        await self._machine.run_together(self._feed.run(), self._beat(), self._work())

    async def _register(self) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self._id,
            cluster_id=self._scene.cluster_id,
            incarnation_id=self._incarnation,
            listeners=[Listener("PLAINTEXT", self._machine.host, 9_092)],
            features=[
                Feature(feature.name, feature.minimum, feature.maximum())
                for feature in FEATURES.values()
            ],
            rack=None,
            log_dirs=[bytes([200, self._id]) * 8],
        )
        answer = await self._asker.ask(request, BrokerRegistrationResponse, is_idempotent=True)
        self._asker.check_code(answer.error_code)
        self._ledger.registered(self._id, answer.broker_epoch)
        check(answer.broker_epoch >= self._epoch, "broker epoch back to", answer.broker_epoch)
        self._epoch = answer.broker_epoch
        self._feed.require(answer.broker_epoch)

    async def _beat(self) -> None:
        while True:
            try:
                if self._epoch < 0:
                    await self._register()
                else:
                    await self._heartbeat()
            except (NotDone, Unknown):
                pass
            await asyncio.sleep(HEARTBEAT_MS / 1000)

    async def _heartbeat(self) -> None:
        request = BrokerHeartbeatRequest(self._id, self._epoch, max(self._feed.offset - 1, 0))
        answer = await self._asker.ask(request, BrokerHeartbeatResponse, is_idempotent=True)
        if answer.error_code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            self._epoch = -1

    async def _work(self) -> None:
        rng = self._machine.rng
        while True:
            await asyncio.sleep(rng.randrange(50, 500) / 1000)
            if self._epoch < 0:
                continue
            try:
                if rng.randrange(2):
                    await self._allocate()
                else:
                    await self._alter_partition()
            except (NotDone, Unknown):
                pass

    async def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(self._id, self._epoch)
        self._ledger.block_asked()
        try:
            answer = await self._asker.ask(request, AllocateProducerIdsResponse)
            self._asker.check_code(answer.error_code)
        except NotDone:
            self._ledger.block_refused()
            raise
        self._ledger.block_done(answer.producer_id_start, answer.producer_id_len)

    async def _alter_partition(self) -> None:
        """Of one that it leads: shrink the ISR to itself, or take everybody in."""
        image = self._sink.image
        led = [
            (topic.id, number, partition)
            for topic in image.topics
            for number, partition in topic.partitions.items()
            if partition.leader == self._id and len(partition.replicas) > 1
        ]
        if not led:
            return
        topic_id, number, partition = led[self._machine.rng.randrange(len(led))]
        wanted = partition.replicas if len(partition.isr) == 1 else (self._id,)
        brokers = image.cluster.brokers
        isr = [BrokerState(one, brokers[one].epoch) for one in wanted if one in brokers]
        data = PartitionData(
            partition_index=number,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=isr,
            partition_epoch=partition.partition_epoch,
        )
        request = AlterPartitionRequest(self._id, self._epoch, [TopicData(topic_id, [data])])
        answer = await self._asker.ask(request, AlterPartitionResponse)
        self._asker.check_code(answer.error_code)
        changed = answer.topics[0].partitions[0]
        self._asker.check_code(changed.error_code)
        committed = self._scene.truth.image.topics.partition(topic_id, number)
        if committed is not None:
            told = changed.partition_epoch
            check(committed.partition_epoch >= told, "an ISR acknowledged, not committed", told)
        self._ledger.count.isr_changes += 1
