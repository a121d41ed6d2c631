"""What a cluster is told to do with topics, and what it knows of them: asked of its controller.

The same requests as clients send, without a client in between, so that they work whichever brokers
are down.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from barnabas.cluster_error import ClusterError
from barnabas_controller.managers.view import Context
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

if TYPE_CHECKING:
    from barnabas_controller.service import ControllerService
    from barnabas_core.metadata.image import Image
    from barnabas_core.wire.messages.alter_partition_reassignments_response import (
        AlterPartitionReassignmentsResponse,
    )
    from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
    from barnabas_core.wire.messages.delete_topics_response import DeleteTopicsResponse
    from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse

_POLL_S: Final = 0.01
_TIMEOUT_S: Final = 30.0
_PREFERRED: Final = 0

# The message classes are imported where they are used: a cluster that starts needs none of them.


class TopicOrders:
    """`settle` waits until the brokers have applied all that is committed."""

    def __init__(
        self, controller: "ControllerService", settle: Callable[[int], Awaitable[None]]
    ) -> None:
        self._controller = controller
        self._settle = settle

    @property
    def _image(self) -> "Image":
        return self._controller.engine.committed

    def has(self, topic: str) -> bool:
        return self._image.topics.named(topic) is not None

    def partition(self, topic: str, partition: int) -> PartitionImage:
        found = self._image.topics.named(topic)
        if found is None:
            raise ClusterError(f"there is no topic {topic}")
        image = found.partitions.get(partition)
        if image is None:
            raise ClusterError(f"topic {topic} has no partition {partition}")
        return image

    async def create(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str]
    ) -> None:
        from barnabas_core.wire.messages.create_topics_request import (  # noqa: PLC0415
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        configs = [CreatableTopicConfig(key, value) for key, value in config.items()]
        topic = CreatableTopic(name, partitions, replication_factor, configs=configs)
        request = CreateTopicsRequest([topic])
        response = cast("CreateTopicsResponse", await self._ask(ApiKey.CREATE_TOPICS, request))
        (answer,) = response.topics
        _check(answer.error_code, answer.error_message, f"topic {name} cannot be created")
        await self._all_have_heard()

    async def delete(self, name: str) -> None:
        from barnabas_core.wire.messages.delete_topics_request import (  # noqa: PLC0415
            DeleteTopicsRequest,
            DeleteTopicState,
        )

        request = DeleteTopicsRequest([DeleteTopicState(name)])
        response = cast("DeleteTopicsResponse", await self._ask(ApiKey.DELETE_TOPICS, request))
        (answer,) = response.responses
        _check(answer.error_code, answer.error_message, f"topic {name} cannot be deleted")
        await self._all_have_heard()

    async def move_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Make it the preferred replica, then have the preferred replica elected.

        A broker that keeps no replica takes the place of the one that leads, and first copies it.
        """
        now = self.partition(topic, partition)
        if now.leader == broker_id:
            return
        leaving = broker_id if broker_id in now.replicas else now.leader
        wanted = [broker_id, *(one for one in now.replicas if one != leaving)]
        if wanted != list(now.replicas):
            await self._reassign(topic, partition, wanted)

        def is_in_sync() -> bool:
            image = self.partition(topic, partition)
            return not image.is_reassigning and broker_id in image.isr

        await self._wait(is_in_sync, f"broker {broker_id} does not catch up with {topic}")
        await self._elect(topic, partition)
        await self._wait(
            lambda: self.partition(topic, partition).leader == broker_id,
            f"broker {broker_id} is not made leader of {topic}-{partition}",
        )
        await self._all_have_heard()

    async def _reassign(self, topic: str, partition: int, replicas: list[int]) -> None:
        from barnabas_core.wire.messages.alter_partition_reassignments_request import (  # noqa: PLC0415
            AlterPartitionReassignmentsRequest,
            ReassignablePartition,
            ReassignableTopic,
        )

        wanted = ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])
        response = cast(
            "AlterPartitionReassignmentsResponse",
            await self._ask(
                ApiKey.ALTER_PARTITION_REASSIGNMENTS,
                AlterPartitionReassignmentsRequest(topics=[wanted]),
            ),
        )
        (answer,) = response.responses[0].partitions
        _check(answer.error_code, answer.error_message, f"{topic}-{partition} cannot be moved")

    async def _elect(self, topic: str, partition: int) -> None:
        from barnabas_core.wire.messages.elect_leaders_request import (  # noqa: PLC0415
            ElectLeadersRequest,
            TopicPartitions,
        )

        request = ElectLeadersRequest(_PREFERRED, [TopicPartitions(topic, [partition])])
        response = cast("ElectLeadersResponse", await self._ask(ApiKey.ELECT_LEADERS, request))
        (answer,) = response.replica_election_results[0].partition_result
        if answer.error_code != ErrorCode.ELECTION_NOT_NEEDED:
            what = f"{topic}-{partition} cannot have its leader elected"
            _check(answer.error_code, answer.error_message, what)

    async def _ask(self, key: ApiKey, request: Message) -> Message:
        context = Context(API_BY_KEY[key].max_version, client_id="barnabas")
        return await self._controller.requests.handle(key, request, context)

    async def _all_have_heard(self) -> None:
        await self._settle(self._image.provenance.offset)

    async def _wait(self, holds: Callable[[], bool], complaint: str) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while not holds():  # noqa: ASYNC110 - images are looked at, they tell nobody
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise ClusterError(f"{complaint} within {_TIMEOUT_S:.0f} s") from None


def _check(error_code: int, message: str | None, what: str) -> None:
    error = ErrorCode(error_code)
    if error is not ErrorCode.NONE:
        raise ClusterError(f"{what}: {error.name}{f': {message}' if message else ''}")
