"""An administrator on raw sockets: finds the active controller, as KIP-919 says, and asks it.

What certainly was not carried out is asked again, of whoever is active by then. When nobody knows
(the connection broke, no answer came, or the controller lost its place over it) `Uncertain` is
raised: only the caller knows whether it may be asked twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from barnabas_core.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.describe_quorum_request import DescribeQuorumRequest, TopicData
from barnabas_core.wire.messages.describe_quorum_request import PartitionData as AskedPartition
from barnabas_core.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    PartitionData,
)
from barnabas_core.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from barnabas_core.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from barnabas_core.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from barnabas_core.wire.messages.unregister_broker_response import UnregisterBrokerResponse
from barnabas_core.wire.schema import Message
from tests.support.controller_process import (
    CLUSTER_ID,
    DEADLINE_S,
    HOST,
    METADATA_TOPIC,
    ControllerNode,
    Quorum,
)
from tests.support.raw_client import ConnectionClosed, RawClient, highest_version

M = TypeVar("M", bound=Message)

NO_BROKER = 2**31 - 1
_PAUSE_S = 0.02


class Uncertain(Exception):
    """It may have been carried out."""


class Refused(Exception):
    """The controller answered with an error."""

    def __init__(self, code: int, reason: str | None) -> None:
        self.code = ErrorCode(code)
        super().__init__(f"{self.code.name}: {reason}")


@dataclass(frozen=True, slots=True)
class Creation:
    """A topic that is acknowledged."""

    name: str
    topic_id: bytes | None
    """None if the answer that told it was lost."""
    node_id: int
    """Who acknowledged it."""


class Admin:
    """`timeout_s` is for one answer; a stopped controller never gives one."""

    def __init__(self, quorum: Quorum, timeout_s: float = 10) -> None:
        self._quorum = quorum
        self._timeout_s = timeout_s
        self._client: RawClient | None = None
        self.node_id = -1
        """Of the controller that is asked at present."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Look for the active controller anew."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def ask(self, request: Message, response: type[M], code_of: Callable[[M], int]) -> M:
        client = self._find()
        try:
            answer = client.ask(request, highest_version(request), response)
        except (ConnectionClosed, OSError) as error:
            self.leave()
            raise Uncertain(f"{type(request).__name__}: {error!r}") from error
        if code_of(answer) == ErrorCode.NOT_CONTROLLER:
            self.leave()
            raise Uncertain(f"{type(request).__name__}: NOT_CONTROLLER")
        return answer

    def ask_twice(self, request: Message, response: type[M], code_of: Callable[[M], int]) -> M:
        """For what may be carried out again without harm: until it is answered."""
        give_up_at = time.monotonic() + DEADLINE_S
        while True:
            try:
                return self.ask(request, response, code_of)
            except Uncertain:
                assert time.monotonic() < give_up_at, f"no answer to {request}"
                time.sleep(_PAUSE_S)

    def _find(self) -> RawClient:
        give_up_at = time.monotonic() + DEADLINE_S
        while self._client is None:
            assert time.monotonic() < give_up_at, "no active controller is found"
            active = self._active()
            if active is None:
                time.sleep(_PAUSE_S)
                continue
            try:
                self._client = RawClient(active.address, timeout_s=self._timeout_s)
            except OSError:
                continue
            self.node_id = active.id
        return self._client

    def _active(self) -> ControllerNode | None:
        """As whoever answers first says, if that one agrees."""
        for node in self._quorum.running:
            answer = node.describe_cluster(timeout_s=0.3)
            known = None if answer is None else self._quorum.nodes.get(answer.controller_id)
            if known is None or not known.is_running:
                continue
            its_own = known.describe_cluster(timeout_s=0.3)
            if its_own is not None and its_own.controller_id == known.id:
                return known
        return None

    # --- what tests ask for

    def wait_decides(self) -> int:
        """Until the active controller decides something; its id."""
        answer = self.ask_twice(
            UnregisterBrokerRequest(NO_BROKER), UnregisterBrokerResponse, lambda a: a.error_code
        )
        assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED, answer
        return self.node_id

    def create_topic(self, name: str, partitions: int = 1, replicas: int = 1) -> Creation:
        """Asked again until it is known to be there, as Kafka's clients do."""
        request = CreateTopicsRequest([CreatableTopic(name, partitions, replicas)])
        give_up_at = time.monotonic() + DEADLINE_S
        was_asked = False
        while True:
            try:
                answer = self.ask(request, CreateTopicsResponse, lambda a: a.topics[0].error_code)
            except Uncertain:
                assert time.monotonic() < give_up_at, f"{name} is not created"
                was_asked = True
                time.sleep(_PAUSE_S)
                continue
            topic = answer.topics[0]
            if topic.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and was_asked:
                return Creation(name, None, self.node_id)
            if topic.error_code != ErrorCode.NONE:
                raise Refused(topic.error_code, topic.error_message)
            return Creation(name, topic.topic_id, self.node_id)

    def describe_quorum(self) -> PartitionData:
        request = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [AskedPartition(0)])])
        give_up_at = time.monotonic() + DEADLINE_S
        while True:
            answer = self.ask_twice(request, DescribeQuorumResponse, lambda a: a.error_code)
            found = answer.topics[0].partitions[0]
            if found.error_code == ErrorCode.NONE:
                return found
            assert time.monotonic() < give_up_at, f"no quorum is described: {found}"
            self.leave()
            time.sleep(_PAUSE_S)

    @property
    def voter_ids(self) -> list[int]:
        return sorted(voter.replica_id for voter in self.describe_quorum().current_voters)

    def add_voter(self, node: ControllerNode) -> None:
        request = AddRaftVoterRequest(
            cluster_id=CLUSTER_ID,
            timeout_ms=10_000,
            voter_id=node.id,
            voter_directory_id=node.directory_id,
            listeners=[Listener("CONTROLLER", HOST, node.port)],
        )
        done = ErrorCode.DUPLICATE_VOTER
        self._change(
            done,
            lambda: self.ask(request, AddRaftVoterResponse, lambda a: a.error_code),
        )

    def remove_voter(self, node_id: int, directory_id: bytes) -> None:
        request = RemoveRaftVoterRequest(CLUSTER_ID, node_id, directory_id)
        done = ErrorCode.VOTER_NOT_FOUND
        self._change(
            done,
            lambda: self.ask(request, RemoveRaftVoterResponse, lambda a: a.error_code),
        )

    def _change(
        self,
        done: ErrorCode,
        ask: Callable[[], AddRaftVoterResponse | RemoveRaftVoterResponse],
    ) -> None:
        """Once; again if nobody knows, and then it may turn out to have been done before."""
        give_up_at = time.monotonic() + DEADLINE_S
        was_asked = False
        while True:
            assert time.monotonic() < give_up_at, f"no change of voters (or {done.name})"
            try:
                answer = ask()
            except Uncertain:
                was_asked = True
                time.sleep(_PAUSE_S)
                continue
            if answer.error_code == ErrorCode.REQUEST_TIMED_OUT:
                # Another change is under way, or a new leader has committed nothing of its own.
                was_asked = True
                time.sleep(_PAUSE_S)
            elif answer.error_code == ErrorCode.NONE or (was_asked and answer.error_code == done):
                return
            else:
                raise Refused(answer.error_code, answer.error_message)
