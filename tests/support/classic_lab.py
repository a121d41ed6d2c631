"""Members of one classic group and their coordinator: what each asks, and what it is told."""

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.group.group_state import Claim
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue
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
from tests.support.shard_lab import ShardLab

GROUP = "orders"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
RANGE = (("range", b"r"),)

Protocols = tuple[tuple[str, bytes], ...]


def subscription(*topics: str, version: int = 1, owned: tuple[int, ...] = ()) -> bytes:
    """What a consumer says when it joins: its version, then the message."""
    message = ConsumerProtocolSubscription(topics=list(topics))
    if owned:
        message.owned_partitions = [TopicPartition(topic=topics[0], partitions=list(owned))]
    return version.to_bytes(2, "big") + encode(message, version)


def _durable(shard: GroupShard) -> object:
    return {group_id: group.durable() for group_id, group in shard.state.groups.items()}


class ClassicLab:
    def __init__(self, seed: int = 1, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.shard = ShardLab(lambda: GroupShard(self.settings), _durable, seed=seed)

    @property
    def group(self) -> ClassicGroup:
        found = self.shard.machine.state.groups[GROUP]
        assert isinstance(found, ClassicGroup)
        return found

    def written(self) -> list[GroupMetadataValue | None]:
        """Values of the records of the last act."""
        values = []
        for record in self.shard.new_records:
            assert record.value is None or isinstance(record.value, GroupMetadataValue)
            values.append(record.value)
        return values

    # --- asking

    def join(self, request: JoinGroupRequest, version: int = 9, client_id: str = "client") -> int:
        return self.shard.send(request, version, client_id=client_id, client_host="/127.0.0.1")

    def sync(self, request: SyncGroupRequest, version: int = 5) -> int:
        return self.shard.send(request, version)

    def heartbeat(
        self, member_id: str, generation: int, instance_id: str | None = None
    ) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
        )
        return ErrorCode(self.shard.ask(request, HeartbeatResponse).error_code)

    def leave(self, *members: MemberIdentity) -> list[ErrorCode]:
        request = LeaveGroupRequest(group_id=GROUP, members=list(members))
        answer = self.shard.ask(request, LeaveGroupResponse)
        assert answer.error_code == ErrorCode.NONE
        return [ErrorCode(one.error_code) for one in answer.members]

    def commit(
        self,
        member_id: str,
        generation: int,
        instance_id: str | None = None,
        *,
        is_transactional: bool = False,
    ) -> ErrorCode:
        claim = Claim(member_id, instance_id, generation, 9, is_transactional)
        return self.group.check_commit(claim, self.shard.env)

    # --- being told

    def is_waiting(self, call: int) -> bool:
        return self.shard.is_waiting(call)

    def joined(self, call: int) -> JoinGroupResponse:
        return self.shard.answer(call, JoinGroupResponse)

    def join_error(self, call: int) -> ErrorCode:
        return ErrorCode(self.joined(call).error_code)

    def synced(self, call: int) -> SyncGroupResponse:
        return self.shard.answer(call, SyncGroupResponse)

    def sync_error(self, call: int) -> ErrorCode:
        return ErrorCode(self.synced(call).error_code)

    # --- whole conversations

    def new_member_id(self, protocols: Protocols = RANGE, client_id: str = "client") -> str:
        answer = self.joined(self.join(join_of("", protocols), client_id=client_id))
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return answer.member_id

    def new_member(self, protocols: Protocols = RANGE) -> tuple[str, int]:
        """(its id, its JoinGroup that may wait)"""
        member_id = self.new_member_id(protocols)
        return member_id, self.join(join_of(member_id, protocols))

    def stable(self, count: int, protocols: Protocols = RANGE) -> list[str]:
        """That many members, the leader first, each assigned its own id."""
        members = [self.new_member(protocols) for _ in range(count)]
        self.shard.pass_time(self.settings.initial_rebalance_delay_ms)
        self.shard.pass_time(self.settings.initial_rebalance_delay_ms)
        answers = [self.joined(call) for _, call in members]
        assert {one.error_code for one in answers} == {ErrorCode.NONE}
        ids = [member_id for member_id, _ in members]
        ids.sort(key=lambda one: one != answers[0].leader)
        self.complete(ids, answers[0].generation_id)
        return ids

    def complete(self, ids: list[str], generation: int) -> None:
        """All sync, the leader (the first) last."""
        calls = [self.sync(sync_of(one, generation)) for one in ids[1:]]
        calls.append(self.sync(sync_of(ids[0], generation, {one: one.encode() for one in ids})))
        for member_id, call in zip([*ids[1:], ids[0]], calls, strict=True):
            answer = self.synced(call)
            assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, member_id.encode())


def join_of(
    member_id: str,
    protocols: Protocols = RANGE,
    *,
    instance_id: str | None = None,
    protocol_type: str = "consumer",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
    )


def sync_of(
    member_id: str,
    generation: int,
    shares: dict[str, bytes] | None = None,
    *,
    instance_id: str | None = None,
    protocol: str = "range",
    protocol_type: str = "consumer",
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=one, assignment=share)
            for one, share in (shares or {}).items()
        ],
    )


def leaving(member_id: str, instance_id: str | None = None) -> MemberIdentity:
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id)
