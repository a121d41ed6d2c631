"""A running cluster over links: the operator's questions and its actions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from barnabas_core.links.cluster_health import ClusterHealthClient
from barnabas_core.ports.link import Address, CallRefused, LinkError, NotActive, Purpose
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from barnabas_core.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from barnabas_core.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from barnabas_core.wire.messages.describe_quorum_response import DescribeQuorumResponse
from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from barnabas_core.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from barnabas_core.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from barnabas_core.wire.messages.unregister_broker_response import UnregisterBrokerResponse
from barnabas_core.wire.messages.update_features_response import UpdateFeaturesResponse
from barnabas_core.wire.schema import Message
from barnabas_operator.health import raw_admin
from barnabas_operator.health.cluster_port import (
    ClusterView,
    PermitAnswer,
    Refused,
    Unavailable,
)
from barnabas_operator.health.inventory import read_inventory
from barnabas_operator.health.topic_admin import TopicAdmin
from barnabas_operator.plan.actions import (
    Action,
    AddVoter,
    Cordon,
    ElectPreferred,
    MoveLeaders,
    Reassign,
    RemoveVoter,
    Restart,
    SetDynamicConfig,
    UnregisterBroker,
    UpdateFeatures,
)
from barnabas_operator.plan.observed import NodeState, QuorumState, Role, Standing
from barnabas_operator.plan.topic_state import MoveReplicas, TopicAction

M = TypeVar("M", bound=Message)
_FIRST_MS: Final = 5_000
_CALL_MS: Final = 10_000
_STANDING_MS: Final = 3_000
_VOTER_MS: Final = 30_000
_MANY_CHANGES: Final = (ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND)
"""It is as it was asked to be."""
_CORDONED: Final = "cordoned.log.dirs"


class Gateway:
    def __init__(
        self,
        client: ClusterHealthClient,
        cluster_id: str,
        address_of: Callable[[int], Address],
        voter_endpoints: Callable[[int], Sequence[tuple[str, Address]]],
        topics: TopicAdmin,
    ) -> None:
        """`address_of`: the link of a node; `voter_endpoints`: what a voter is known by."""
        self._client = client
        self._cluster_id = cluster_id
        self._address_of = address_of
        self._voter_endpoints = voter_endpoints
        self._topics = topics
        self._doers: Mapping[type, Callable[[Any], Any]] = {
            MoveLeaders: self._move_leaders,
            AddVoter: self._add_voter,
            RemoveVoter: self._remove_voter,
            Cordon: self._cordon,
            Reassign: self._reassign,
            UnregisterBroker: self._unregister,
            SetDynamicConfig: self._set_config,
            UpdateFeatures: self._update_features,
            ElectPreferred: self._elect,
        }

    def know(self, controllers: Sequence[Address]) -> None:
        """Where the active controller is looked for from now on."""
        self._client.know(controllers)

    async def close(self) -> None:
        await self._client.close()
        await self._topics.close()

    # --- questions

    async def view(self) -> ClusterView:
        quorum, lags = await self._quorum()
        try:
            pages = [await self._client.inventory()]
            while pages[-1].has_more:
                pages.append(await self._client.inventory(pages[-1].topics[-1].name))
        except LinkError as error:
            raise _unavailable(error) from error
        return read_inventory(pages, quorum, lags)

    async def _quorum(self) -> tuple[QuorumState, Mapping[int, int]]:
        """From the active controller: the first question finds it, and others answer the second."""
        try:
            health = await self._client.quorum_check(_FIRST_MS)
        except LinkError as error:
            raise _unavailable(error) from error
        response = await self._ask(raw_admin.describe_quorum(), DescribeQuorumResponse)
        quorum = raw_admin.read_quorum(response)
        if quorum is None:
            raise Unavailable("the active controller has just lost its place")
        return quorum, {one.node_id: one.lag for one in health.voters}

    async def standing(self, node: NodeState) -> Standing | None:
        """Of a combined node both roles have to be back."""
        purposes = []
        if Role.BROKER in node.roles:
            purposes.append(Purpose.BROKER_HEALTH)
        if Role.CONTROLLER in node.roles:
            purposes.append(Purpose.CLUSTER_HEALTH)
        if Role.COORDINATOR in node.roles:
            purposes.append(Purpose.COORDINATOR_HEALTH)
        found = None
        for purpose in purposes:
            try:
                answer = await self._client.post_restart_check(
                    self._address_of(node.node_id), purpose, _STANDING_MS
                )
            except LinkError:
                return None
            if found is None or found.is_back:
                count = max(answer.replica_count, 0 if found is None else found.replica_count)
                found = Standing(answer.is_done, answer.reason, count)
        return found

    async def permit(self, restart: Restart) -> PermitAnswer:
        try:
            answer = await self._client.pre_restart_check(
                restart.node_id,
                wants_permit=True,
                coordinator_role=restart.coordinator_role,
                peer_count=restart.peer_count,
            )
        except LinkError as error:
            raise _unavailable(error) from error
        return PermitAnswer(answer.permit_ms, tuple(answer.reasons))

    # --- actions

    async def carry_out(self, action: Action) -> None:
        await self._doers[type(action)](action)

    async def carry_out_topics(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        refused: dict[str, str] = {}
        for action in actions:
            if isinstance(action, MoveReplicas):
                try:
                    await self._reassign(Reassign(action.moves))
                except Refused as error:
                    refused[action.topic] = str(error)
        others = [one for one in actions if not isinstance(one, MoveReplicas)]
        return {**await self._topics.carry_out(others), **refused} if others else refused

    async def _move_leaders(self, action: MoveLeaders) -> None:
        try:
            await self._client.drain(action.node_id)
        except LinkError as error:
            raise _unavailable(error) from error

    async def _add_voter(self, action: AddVoter) -> None:
        listeners = [
            Listener(name, at.host, at.port) for name, at in self._voter_endpoints(action.node_id)
        ]
        request = AddRaftVoterRequest(
            self._cluster_id, _VOTER_MS, action.node_id, action.directory_id, listeners
        )
        response = await self._ask(request, AddRaftVoterResponse, _VOTER_MS)
        _check_voter(response.error_code, response.error_message)

    async def _remove_voter(self, action: RemoveVoter) -> None:
        request = RemoveRaftVoterRequest(self._cluster_id, action.node_id, action.directory_id)
        response = await self._ask(request, RemoveRaftVoterResponse, _VOTER_MS)
        _check_voter(response.error_code, response.error_message)

    async def _cordon(self, action: Cordon) -> None:
        changes = {_CORDONED: "*" if action.is_cordoned else None}
        request = raw_admin.set_broker_config(changes, str(action.node_id))
        _check(raw_admin.config_errors(await self._ask(request, IncrementalAlterConfigsResponse)))

    async def _set_config(self, action: SetDynamicConfig) -> None:
        request = raw_admin.set_broker_config(action.changes)
        _check(raw_admin.config_errors(await self._ask(request, IncrementalAlterConfigsResponse)))

    async def _reassign(self, action: Reassign) -> None:
        request = raw_admin.reassign(action.moves)
        response = await self._ask(request, AlterPartitionReassignmentsResponse)
        errors = raw_admin.reassign_errors(response)
        _check([f"{topic}: {error}" if topic else error for topic, error in errors.items()])

    async def _unregister(self, action: UnregisterBroker) -> None:
        request = UnregisterBrokerRequest(action.node_id)
        response = await self._ask(request, UnregisterBrokerResponse)
        if response.error_code != ErrorCode.BROKER_ID_NOT_REGISTERED:
            error = raw_admin.told(response.error_code, response.error_message)
            _check([error] if error else [])

    async def _update_features(self, action: UpdateFeatures) -> None:
        request = raw_admin.update_features(action.levels)
        response = await self._ask(request, UpdateFeaturesResponse)
        error = raw_admin.told(response.error_code, response.error_message)
        _check([error] if error else [])

    async def _elect(self, action: ElectPreferred) -> None:
        request = raw_admin.elect_preferred(action.partitions)
        _check(raw_admin.election_errors(await self._ask(request, ElectLeadersResponse)))

    async def _ask(self, request: Message, response: type[M], timeout_ms: int = _CALL_MS) -> M:
        key, version = request.KEY, request.MAX_VERSION
        assert key is not None
        try:
            body = await self._client.admin(key, version, encode(request, version), timeout_ms)
            return decode(response, version, body)
        except (LinkError, DecodeError) as error:
            raise _unavailable(error) from error


def _unavailable(error: Exception) -> Exception:
    if isinstance(error, CallRefused) and not isinstance(error, NotActive):
        return Refused(str(error))
    return Unavailable(str(error) or type(error).__name__)


def _check(errors: Sequence[str]) -> None:
    if errors:
        raise Refused("; ".join(errors[:3]))


def _check_voter(code: int, message: str | None) -> None:
    """Voters change one at a time: what cannot be done now is asked for again."""
    if code and code not in _MANY_CHANGES:
        raise Unavailable(raw_admin.told(code, message))
