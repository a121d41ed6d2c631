"""A shard of groups with members of the consumer protocol (KIP-848) in front of it.

`ConsumerLab` sends single heartbeats; `Consumer` is a client as clients are: it revokes before it
takes, tells what it owns, says everything when it is not sure, and joins again when it is fenced.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.member import MemberState
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.metadata.keyed_image import GROUP_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from barnabas_core.wire.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.schema import Message
from tests.support.cluster_image import broker, replayed, topic
from tests.support.shard_lab import ShardLab

GROUP = "group"
Owned = frozenset[tuple[str, int]]
"""(topic, partition)"""


def topic_id(name: str) -> bytes:
    return name.encode().rjust(16, b"\0")


def durable(shard: GroupShard) -> object:
    return {group_id: group.durable() for group_id, group in shard.state.groups.items()}


class ConsumerLab(ShardLab[GroupShard]):
    """Without an assignment interval, unless told otherwise: every change is assigned at once."""

    def __init__(self, topics: Mapping[str, int] | None = None, **settings: Any) -> None:  # noqa: ANN401
        settings.setdefault("consumer_assignment_interval_ms", 0)
        self.settings = GroupSettings(**settings)
        super().__init__(lambda: GroupShard(self.settings), durable)
        records: list[Message] = [broker(1)]
        for name, count in (topics or {}).items():
            records += topic(name, topic_id(name), [[1]] * count)
        self.image = replayed(records, EMPTY_IMAGE)[1]

    # --- the cluster

    def change(self, *records: Message) -> None:
        self.set_image(replayed(records, self.image)[1])

    def add_topic(self, name: str, count: int, with_id: bytes | None = None) -> None:
        self.change(*topic(name, with_id or topic_id(name), [[1]] * count))

    def remove_topic(self, name: str) -> None:
        self.change(RemoveTopicRecord(self.image.topics.id_by_name[name]))

    def grow_topic(self, name: str, count: int) -> None:
        old = self.image.topics.named(name)
        assert old is not None
        self.change(
            *(
                PartitionRecord(
                    partition_id=number, topic_id=old.id, replicas=[1], isr=[1], leader=1
                )
                for number in range(len(old.partitions), count)
            )
        )

    def configure(self, name: str, value: str) -> None:
        self.change(ConfigRecord(GROUP_RESOURCE, GROUP, name, value))

    # --- the group

    @property
    def group(self) -> ConsumerGroup:
        found = self.machine.state.groups[GROUP]
        assert isinstance(found, ConsumerGroup)
        return found

    def state_of(self, member_id: str) -> MemberState:
        return self.group.members[member_id].state

    def is_member(self, member_id: str) -> bool:
        return member_id in self.group.members

    def names(self, partitions: Mapping[bytes, Iterable[int]]) -> Owned:
        by_id = self.image.topics.by_id
        return frozenset((by_id[each].name, n) for each, some in partitions.items() for n in some)

    def post(self, member_id: str = "m", epoch: int = 0, version: int = 1, **fields: Any) -> int:  # noqa: ANN401
        """A heartbeat, with all that a first one needs; its answer may have to wait."""
        owned = fields.pop("owned", None)
        if owned is not None:
            fields["topic_partitions"] = self.wire(owned)
        if "regex" in fields:
            fields["subscribed_topic_regex"] = fields.pop("regex")
        if epoch == 0:
            fields.setdefault("rebalance_timeout_ms", 10_000)
            fields.setdefault("topic_partitions", [])
            if "subscribed_topic_regex" not in fields:
                fields.setdefault("subscribed_topic_names", ["t"])
        message = ConsumerGroupHeartbeatRequest(
            group_id=fields.pop("group_id", GROUP),
            member_id=member_id,
            member_epoch=epoch,
            **fields,
        )
        return self.send(message, version, client_id="client", client_host="/127.0.0.1")

    def beat(
        self,
        member_id: str = "m",
        epoch: int = 0,
        version: int = 1,
        **fields: Any,  # noqa: ANN401
    ) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat and its answer, jobs done on the way. `new_records` are all of these."""
        call = self.post(member_id, epoch, version, **fields)
        records = list(self.new_records)
        while self.jobs:
            job = self.jobs.pop(0)
            self._take(self.machine.on_done(job.key, job.run(), self.env))
            records += self.new_records
        self.new_records = records
        return self.answer(call, ConsumerGroupHeartbeatResponse)

    def refused(self, *args: Any, **fields: Any) -> ErrorCode:  # noqa: ANN401
        answer = self.beat(*args, **fields)
        assert answer.assignment is None
        assert self.new_records == []
        return ErrorCode(answer.error_code)

    def wire(self, owned: Owned) -> list[TopicPartitions]:
        by_topic: dict[bytes, list[int]] = {}
        for name, number in sorted(owned):
            by_topic.setdefault(self.image.topics.id_by_name[name], []).append(number)
        return [TopicPartitions(each, some) for each, some in by_topic.items()]

    def told(self, answer: ConsumerGroupHeartbeatResponse) -> Owned:
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        assert answer.assignment is not None
        return self.names(
            {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        )

    def described(self, group_id: str = GROUP, version: int = 1) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest([group_id])
        return self.ask(request, ConsumerGroupDescribeResponse, version).groups[0]


@dataclass(slots=True)
class Consumer:
    lab: ConsumerLab
    member_id: str
    topics: tuple[str, ...] = ("t",)
    instance_id: str | None = None
    assignor: str | None = None
    rebalance_timeout_ms: int = 10_000
    epoch: int = 0
    owned: frozenset[tuple[bytes, int]] = frozenset()
    """(topic id, partition): what it consumes at this moment."""
    assigned: frozenset[tuple[bytes, int]] = frozenset()
    """What it was told; it has still to revoke what is not in here."""
    call: int | None = None
    """Of the heartbeat that is under way."""
    is_sure: bool = False
    told_topics: tuple[str, ...] = ()
    """What it last said that it subscribes to."""
    is_slow: bool = False
    """It does not revoke by itself."""

    def beat(self) -> None:
        self.post()
        self.lab.do_jobs()
        self.take()

    def post(self) -> None:
        owned: dict[bytes, list[int]] = {}
        for each, number in sorted(self.owned):
            owned.setdefault(each, []).append(number)
        message = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            topic_partitions=[TopicPartitions(each, some) for each, some in owned.items()],
        )
        if not self.is_sure or self.epoch == 0 or self.told_topics != self.topics:
            self.told_topics = self.topics
            message.rebalance_timeout_ms = self.rebalance_timeout_ms
            message.subscribed_topic_names = list(self.topics)
            message.server_assignor = self.assignor
        self.call = self.lab.send(message, 1, client_id=self.member_id, client_host="/127.0.0.1")

    def take(self) -> None:
        """The answer, if it is there."""
        if self.call is None or self.lab.is_waiting(self.call):
            return
        answer = self.lab.answer(self.call, ConsumerGroupHeartbeatResponse)
        self.call = None
        if answer.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.abandon()
            return
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        assert answer.member_epoch >= self.epoch, "a member's epoch went back"
        self.epoch = answer.member_epoch
        self.is_sure = True
        if answer.assignment is not None:
            self.assigned = frozenset(
                (one.topic_id, n)
                for one in answer.assignment.topic_partitions
                for n in one.partitions
            )
            # It may begin with what it was given before it is done with what it gives up.
            self.owned |= self.assigned
        if not self.is_slow:
            self.revoke()

    def revoke(self) -> None:
        self.owned &= self.assigned

    def abandon(self) -> None:
        """Fenced: it owns nothing, and joins anew."""
        self.owned = self.assigned = frozenset()
        self.epoch = 0
        self.is_sure = False

    def lose_answer(self) -> None:
        self.call = None
        self.is_sure = False

    def leave(self, epoch: int = -1) -> None:
        self.owned = self.assigned = frozenset()
        message = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.instance_id,
        )
        self.lab.send(message, 1)
        self.call = None
        self.epoch = 0
        self.is_sure = False

    @property
    def partitions(self) -> Owned:
        by_id = self.lab.image.topics.by_id
        return frozenset((by_id[each].name, number) for each, number in self.owned)


def settle(lab: ConsumerLab, *consumers: Consumer, rounds: int = 8) -> None:
    """Everybody heartbeats until nobody has anything to do."""
    for _ in range(rounds):
        for one in consumers:
            if one.call is None:
                one.beat()
        lab.pass_time(1_000)
        lab.do_jobs()
        for one in consumers:
            one.take()
