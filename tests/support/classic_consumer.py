"""A consumer of the classic protocol with the cooperative assignor, as far as groups can tell."""

from dataclasses import dataclass
from struct import Struct

from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
)
from barnabas_core.wire.messages.consumer_protocol_assignment import (
    TopicPartition as AssignedTopic,
)
from barnabas_core.wire.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse
from barnabas_core.wire.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse
from tests.support.consumer_lab import GROUP, ConsumerLab, Owned

_VERSION = Struct(">h")
PROTOCOL = "cooperative-sticky"


@dataclass(slots=True)
class ClassicConsumer:
    lab: ConsumerLab
    name: str
    topics: tuple[str, ...] = ("t",)
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    owned: Owned = frozenset()
    error: ErrorCode = ErrorCode.NONE
    """Of the last answer."""
    leads: tuple[str, ...] = ()
    """The members of the generation that it leads."""
    call: int | None = None

    def metadata(self) -> bytes:
        by_topic: dict[str, list[int]] = {}
        for topic, number in sorted(self.owned):
            by_topic.setdefault(topic, []).append(number)
        owned = [TopicPartition(topic, numbers) for topic, numbers in by_topic.items()]
        message = ConsumerProtocolSubscription(
            list(self.topics), owned_partitions=owned, generation_id=self.generation
        )
        return _VERSION.pack(3) + encode(message, 3)

    def post_join(self) -> None:
        message = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(PROTOCOL, self.metadata())],
        )
        self.call = self.lab.send(message, client_id=self.name, client_host="/127.0.0.1")

    def take_join(self) -> None:
        assert self.call is not None
        answer = self.lab.answer(self.call, JoinGroupResponse)
        self.call = None
        self.error = ErrorCode(answer.error_code)
        if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = answer.member_id
        if answer.error_code == ErrorCode.NONE:
            self.generation = answer.generation_id
            self.leads = tuple(one.member_id for one in answer.members)

    def join(self) -> None:
        self.post_join()
        self.lab.do_jobs()
        self.take_join()
        if self.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.join()

    def sync(self, shares: dict[str, Owned] | None = None) -> None:
        message = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=PROTOCOL,
            assignments=[
                SyncGroupRequestAssignment(member_id, _bytes(owned))
                for member_id, owned in (shares or {}).items()
            ],
        )
        answer = self.lab.ask(message, SyncGroupResponse)
        self.error = ErrorCode(answer.error_code)
        if answer.error_code == ErrorCode.NONE:
            data = bytes(answer.assignment)
            (version,) = _VERSION.unpack_from(data)
            found = decode(ConsumerProtocolAssignment, version, data[2:])
            self.owned = frozenset(
                (one.topic, n) for one in found.assigned_partitions for n in one.partitions
            )

    def beat(self) -> ErrorCode:
        message = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        self.error = ErrorCode(self.lab.ask(message, HeartbeatResponse).error_code)
        return self.error

    def go_on(self) -> None:
        """A heartbeat, and what comes of it in a consumer group."""
        if self.beat() in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.join()
            if self.error is ErrorCode.NONE:
                self.sync()

    def leave(self) -> LeaveGroupResponse:
        self.owned = frozenset()
        message = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(self.member_id)])
        return self.lab.ask(message, LeaveGroupResponse)


def _bytes(owned: Owned) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(owned):
        by_topic.setdefault(topic, []).append(number)
    topics = [AssignedTopic(topic, numbers) for topic, numbers in by_topic.items()]
    return _VERSION.pack(1) + encode(ConsumerProtocolAssignment(topics), 1)
