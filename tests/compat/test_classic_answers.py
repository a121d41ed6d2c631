"""Classic groups: a real Kafka and our shard lead the same conversations, at every version.

Member ids are random: they are compared by the order in which they come up.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import pytest

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.describe_groups_response import DescribeGroupsResponse
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse
from barnabas_core.wire.messages.offset_fetch_request import OffsetFetchRequest
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from barnabas_core.wire.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse
from barnabas_core.wire.schema import Message
from tests.support.classic_lab import subscription
from tests.support.kafka_node import KafkaNode
from tests.support.raw_client import RawClient
from tests.support.shard_lab import ShardLab

M = TypeVar("M", bound=Message)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JOIN_VERSIONS = range(10)


class Coordinator(Protocol):
    def send(self, who: str, request: Message, version: int) -> None: ...

    def hear(self, who: str, answer: type[M]) -> M: ...

    def wait(self, ms: int) -> None: ...


class Theirs:
    """A connection for each who asks: what waits holds it up."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._clients: dict[str, RawClient] = {}
        self._versions: dict[str, int] = {}

    def send(self, who: str, request: Message, version: int) -> None:
        if who not in self._clients:
            self._clients[who] = RawClient(("127.0.0.1", self._port), "raw", timeout_s=10)
        self._clients[who].send(request, version)
        self._versions[who] = version
        time.sleep(0.02)  # those who ask at once are served in any order

    def hear(self, who: str, answer: type[M]) -> M:
        return self._clients[who].receive(answer, self._versions[who])

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


class Ours:
    def __init__(self) -> None:
        settings = GroupSettings(initial_rebalance_delay_ms=0)
        self.lab = ShardLab(
            lambda: GroupShard(settings),
            lambda shard: {name: one.durable() for name, one in shard.state.groups.items()},
        )
        self._calls: dict[str, tuple[int, int]] = {}

    def send(self, who: str, request: Message, version: int) -> None:
        arrived = decode(type(request), version, encode(request, version))
        call = self.lab.send(arrived, version, client_id="raw", client_host="/127.0.0.1")
        self._calls[who] = (call, version)
        self.lab.pass_time(20)

    def hear(self, who: str, answer: type[M]) -> M:
        call, version = self._calls[who]
        return decode(answer, version, encode(self.lab.answer(call, answer), version))

    def wait(self, ms: int) -> None:
        self.lab.pass_time(ms)


class Conversation:
    """Members by name; what they are told is kept, without the ids."""

    def __init__(self, coordinator: Coordinator, group: str, version: int) -> None:
        self._to = coordinator
        self.group = group
        self.version = version
        self.told: list[str] = []
        self._ids: dict[str, str] = {}

    def join(
        self,
        who: str,
        member_id: str = "",
        *protocols: str,
        instance: str | None = None,
        protocol_type: str = "consumer",
        session_ms: int = 6_000,
    ) -> None:
        request = JoinGroupRequest(
            self.group, session_ms, 8_000, member_id, instance, protocol_type
        )
        names = protocols or ("range",)
        # Kafka never answers consumers whose metadata it cannot read.
        request.protocols = [
            JoinGroupRequestProtocol(one, subscription(f"{who} {one}")) for one in names
        ]
        self._to.send(who, request, self.version)

    def joined(self, who: str) -> JoinGroupResponse:
        return self._hear(who, JoinGroupResponse)

    def join_new(self, who: str, *protocols: str) -> None:
        """With the second round where the version has it."""
        self.join(who, "", *protocols)
        if self.version >= 4:
            self.join(who, self.joined(who).member_id, *protocols)

    def sync(
        self, who: str, member_id: str, generation: int, shares: dict[str, bytes] | None = None
    ) -> None:
        request = SyncGroupRequest(self.group, generation, member_id, None, "consumer", "range")
        request.assignments = [
            SyncGroupRequestAssignment(one, share) for one, share in (shares or {}).items()
        ]
        self._to.send(who, request, min(self.version, 5))

    def synced(self, who: str) -> SyncGroupResponse:
        return self._hear(who, SyncGroupResponse)

    def beat(
        self, who: str, member_id: str, generation: int, instance: str | None = None
    ) -> ErrorCode:
        version = 4 if instance is not None else min(self.version, 4)
        request = HeartbeatRequest(self.group, generation, member_id, instance)
        self._to.send(who, request, version)
        return ErrorCode(self._hear(who, HeartbeatResponse).error_code)

    def leave(self, who: str, *member_ids: str, instance: str | None = None) -> None:
        version = min(self.version, 5)
        request = LeaveGroupRequest(self.group)
        if version < 3:
            request.member_id = member_ids[0]
        else:
            request.members = [MemberIdentity(one, instance) for one in member_ids]
        self._to.send(who, request, version)
        self._hear(who, LeaveGroupResponse)

    def describe(self) -> None:
        self._to.send("admin", DescribeGroupsRequest([self.group]), 5)
        answer = self._to.hear("admin", DescribeGroupsResponse)
        (one,) = answer.groups
        one.members = [] if one.group_state != "Stable" else one.members
        one.members.sort(key=lambda member: member.member_metadata)
        self._keep("describe", answer)

    def wait(self, ms: int) -> None:
        self._to.wait(ms)

    def _hear(self, who: str, kind: type[M]) -> M:
        answer = self._to.hear(who, kind)
        if isinstance(answer, JoinGroupResponse):
            answer.members.sort(key=lambda member: member.metadata)
        self._keep(who, answer)
        return answer

    def _keep(self, who: str, answer: Message) -> None:
        def named(found: re.Match[str]) -> str:
            return self._ids.setdefault(found[0], f"id{len(self._ids)}")

        self.told.append(f"{who}: {UUID.sub(named, repr(answer))}")


def ordinary_life(talk: Conversation) -> None:
    """One comes, another one comes, one changes its mind, one leaves, the last one leaves."""
    talk.join_new("one", "range", "sticky")
    one = talk.joined("one").member_id
    talk.describe()
    talk.beat("one", one, 1)
    talk.sync("one", one, 1, {one: b"all"})
    talk.synced("one")
    talk.describe()
    talk.join_new("two", "range")
    talk.beat("one", one, 1)
    talk.describe()
    talk.sync("one", one, 1)
    talk.synced("one")
    talk.join("one", one, "range", "sticky")
    talk.joined("one")
    two = talk.joined("two").member_id
    talk.join("two", two, "range")
    talk.joined("two")
    talk.sync("two", two, 2)
    talk.sync("one", one, 2, {one: b"half", two: b"other half"})
    talk.synced("one")
    talk.synced("two")
    talk.describe()
    talk.join("two", two, "range")
    talk.joined("two")
    talk.join("two", two, "sticky", "range")
    talk.beat("one", one, 2)
    talk.join("one", one, "sticky", "range")
    talk.joined("one")
    talk.joined("two")
    talk.describe()
    talk.leave("one", one)
    talk.beat("one", one, 3)
    talk.join("two", two, "range")
    talk.joined("two")
    talk.sync("two", two, 4, {two: b"all"})
    talk.synced("two")
    talk.leave("two", two)
    talk.describe()
    talk.beat("two", two, 5)
    talk.join_new("three", "other")
    talk.joined("three")


def refusals(talk: Conversation) -> None:
    talk.join("one", "nobody")
    talk.joined("one")
    talk.beat("one", "nobody", 1)
    talk.sync("one", "nobody", 1)
    talk.synced("one")
    talk.leave("one", "nobody")
    talk.join("one", "", session_ms=5_999)
    talk.joined("one")
    talk.join("one", "", session_ms=1_800_001)
    talk.joined("one")
    talk.join("one", "", protocol_type="")
    talk.joined("one")
    talk.describe()
    talk.join_new("one")
    one = talk.joined("one").member_id
    talk.sync("one", one, 1)
    talk.synced("one")
    talk.join("two", "", protocol_type="connect")
    talk.joined("two")
    talk.join("two", "", "sticky")
    talk.joined("two")
    talk.join("two", "nobody")
    talk.joined("two")
    talk.beat("two", one, 0)
    talk.beat("two", "nobody", 1)
    talk.sync("two", one, 2)
    talk.synced("two")
    talk.sync("two", "nobody", 1)
    talk.synced("two")
    talk.leave("two", "nobody")
    talk.leave("two", "")
    talk.describe()


def static_members(talk: Conversation) -> None:
    talk.join("one", "", "range", instance="a")
    one = talk.joined("one").member_id
    talk.sync("one", one, 1, {one: b"all"})
    talk.synced("one")
    talk.join("two", "", "range", instance="b")
    talk.join("one", one, "range", instance="a")
    talk.joined("one")
    two = talk.joined("two").member_id
    talk.sync("one", one, 2, {one: b"half", two: b"other half"})
    talk.synced("one")
    for who, instance in (("two again", "b"), ("one again", "a")):
        talk.join(who, "", "range", instance=instance)
        member_id = talk.joined(who).member_id
        talk.sync(who, member_id, 2)
        talk.synced(who)
        talk.beat(who, member_id, 2, instance)
    talk.beat("two", two, 2, "b")
    talk.beat("two", two, 2, "c")
    talk.join("two", two, "range", instance="b")
    talk.joined("two")
    talk.describe()
    talk.leave("admin", two, instance="b")
    talk.leave("admin", "", instance="b")
    talk.leave("admin", "", instance="b")
    talk.describe()


def sessions(talk: Conversation) -> None:
    """One is not heard of any more, and one never comes back with the id it was given."""
    talk.join_new("one")
    one = talk.joined("one").member_id
    talk.sync("one", one, 1)
    talk.synced("one")
    talk.join_new("two")
    talk.join("one", one)
    talk.joined("one")
    two = talk.joined("two").member_id
    talk.sync("one", one, 2)
    talk.synced("one")
    talk.sync("two", two, 2)
    talk.synced("two")
    talk.join("three")
    talk.joined("three")
    for _ in range(8):
        talk.wait(500)
        talk.beat("two", two, 2)
    talk.wait(2_500)
    talk.beat("two", two, 2)
    talk.beat("one", one, 2)
    talk.join("two", two)
    talk.joined("two")
    talk.wait(6_500)
    talk.describe()


@pytest.fixture(scope="module")
def port(kafka: KafkaNode) -> int:
    probe = OffsetFetchRequest("classic", None)
    deadline = time.monotonic() + 60
    with RawClient(("127.0.0.1", kafka.port)) as client:
        while time.monotonic() < deadline:
            find = FindCoordinatorRequest(key_type=0, coordinator_keys=["classic"])
            client.ask(find, 4, FindCoordinatorResponse)
            if client.ask(probe, 7, OffsetFetchResponse).error_code == ErrorCode.NONE:
                return kafka.port
            time.sleep(0.2)
    raise AssertionError("Kafka has no coordinator after a minute")


@pytest.fixture
def theirs(port: int) -> Iterator[Theirs]:
    made = Theirs(port)
    yield made
    made.close()


Script = Callable[[Conversation], None]
CASES: list[tuple[Script, int]] = [
    *((ordinary_life, version) for version in JOIN_VERSIONS),
    *((refusals, version) for version in JOIN_VERSIONS),
    *((static_members, version) for version in range(5, 10)),
    (sessions, 9),
]


@pytest.mark.parametrize(
    ("script", "version"), CASES, ids=[f"{script.__name__} v{version}" for script, version in CASES]
)
def test_members_are_told_the_same(theirs: Theirs, script: Script, version: int) -> None:
    group = f"classic-{script.__name__}-{version}"
    ours = Ours()
    told = []
    for coordinator in (theirs, ours):
        talk = Conversation(coordinator, group, version)
        script(talk)
        told.append(talk.told)

    assert told[1] == told[0]
    ours.lab.check_replay()
