"""A cluster in a few dictionaries, for plans to be carried out on: pods, permits, ISRs, voters.

It is pessimistic where the real one is: a pod's replacement is there before the controllers have
noticed that its predecessor left, permits may be over before that, and replicas take their time.
Time is a number of turns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from barnabas_operator.plan.actions import (
    Action,
    AddVoter,
    Cordon,
    ElectPreferred,
    MarkSpread,
    MoveLeaders,
    Reassign,
    RemoveVoter,
    Restart,
    SetDynamicConfig,
    UnregisterBroker,
    UpdateFeatures,
)
from barnabas_operator.plan.cluster import Plan, plan
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import (
    BrokerState,
    NodeState,
    Observed,
    PartitionState,
    PodState,
    QuorumMember,
    QuorumState,
    Role,
    Standing,
)

MIN_ISR = 2


@dataclass
class ModelNode:
    node_id: int
    pool: str
    ordinal: int
    roles: frozenset[Role]
    rack: str
    revision: str
    uid: str
    directory_id: bytes
    terminating: int = 0
    """Turns until its process is gone; it takes part no more from the first on."""
    starting: int = 0
    lagging: int = 0
    """Turns until its replicas, or its metadata, have caught up."""
    unseen: int = 0
    """Turns in which the controllers still believe it to be up, though it is not."""
    crashed: int = 0

    @property
    def is_up(self) -> bool:
        return not (self.terminating or self.starting or self.crashed)


@dataclass
class ModelPartition:
    replicas: tuple[int, ...]
    leader: int
    target: tuple[int, ...] | None = None


@dataclass
class ModelCluster:
    rng: Random
    pools: dict[str, PoolWish]
    revision: str = "r1"
    bad_revisions: frozenset[str] = frozenset()
    nodes: dict[int, ModelNode] = field(default_factory=dict)
    partitions: dict[tuple[str, int], ModelPartition] = field(default_factory=dict)
    voters: dict[int, bytes] = field(default_factory=dict)
    permits: dict[int, int] = field(default_factory=dict)
    cordoned: set[int] = field(default_factory=set)
    registered: set[int] = field(default_factory=set)
    spread_to: frozenset[int] = frozenset()
    config: dict[str, str] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=lambda: {"metadata.version": 20})
    former: list[tuple[int, bytes]] = field(default_factory=list)
    """Voters that were removed: they are listed among the observers as they were."""
    draining_hosts: set[int] = field(default_factory=set)
    slow_turns_max: int = 4
    _made: int = 0

    # --- what it is made of

    def start(self) -> None:
        for pool in self.pools.values():
            self.resize(pool.name, pool.replicas)
        for node in self.nodes.values():
            node.starting = node.lagging = 0
            if Role.CONTROLLER in node.roles:
                self.voters[node.node_id] = node.directory_id

    def resize(self, name: str, replicas: int) -> None:
        """What the controller of StatefulSets does."""
        pool = self.pools[name]
        for node in [one for one in self.nodes.values() if one.pool == name]:
            if node.ordinal >= replicas:
                self._check_is_expendable(node.node_id)
                del self.nodes[node.node_id]
        for ordinal in range(replicas):
            node_id = pool.node_id(ordinal)
            if node_id not in self.nodes:
                self.nodes[node_id] = self._new_node(pool, ordinal)
        self.pools[name] = replace(pool, present_replicas=replicas)

    def _check_is_expendable(self, node_id: int) -> None:
        assert node_id not in self.voters, f"{node_id} goes, and votes"
        for key, one in self.partitions.items():
            assert node_id not in one.replicas, f"{node_id} goes with a replica of {key}"
            assert node_id not in (one.target or ()), f"{node_id} goes, and {key} is to come"

    def _new_node(self, pool: PoolWish, ordinal: int) -> ModelNode:
        self._made += 1
        node_id = pool.node_id(ordinal)
        if Role.BROKER in pool.roles:
            self.registered.add(node_id)
        return ModelNode(
            node_id,
            pool.name,
            ordinal,
            pool.roles,
            f"rack-{ordinal % 3}",
            self.revision,
            f"uid-{self._made}",
            f"dir-{self._made}".encode(),
            starting=self.rng.randint(1, self.slow_turns_max),
        )

    # --- what can be asked

    def is_in_sync(self, node_id: int) -> bool:
        node = self.nodes.get(node_id)
        return node is not None and node.is_up and not node.lagging

    def isr(self, one: ModelPartition) -> tuple[int, ...]:
        """As it truly is."""
        return tuple(each for each in one.replicas if self.is_in_sync(each))

    def believed_isr(self, one: ModelPartition) -> tuple[int, ...]:
        """As the controllers have it: whoever went is missed later."""
        return tuple(each for each in one.replicas if self._seems_in_sync(each))

    def _seems_in_sync(self, node_id: int) -> bool:
        node = self.nodes.get(node_id)
        return self.is_in_sync(node_id) or (node is not None and node.unseen > 0)

    @property
    def has_quorum(self) -> bool:
        return sum(map(self._votes, self.voters)) >= len(self.voters) // 2 + 1

    def _is_itself(self, node_id: int) -> bool:
        """What votes under this id is what runs under it."""
        node = self.nodes.get(node_id)
        return node is not None and node.directory_id == self.voters[node_id]

    def _votes(self, node_id: int) -> bool:
        return self.is_in_sync(node_id) and self._is_itself(node_id)

    def _seems_to_vote(self, node_id: int) -> bool:
        return self._seems_in_sync(node_id) and self._is_itself(node_id)

    @property
    def leader_id(self) -> int:
        return min(one for one in self.voters if self._votes(one))

    def observed(self) -> Observed:
        has_quorum = self.has_quorum
        partitions = tuple(
            PartitionState(
                topic,
                number,
                one.replicas,
                self.believed_isr(one),
                one.leader,
                one.target is not None,
            )
            for (topic, number), one in self.partitions.items()
        )
        return Observed(
            nodes=tuple(self._node_state(one) for one in self.nodes.values()),
            quorum=self._quorum() if has_quorum else None,
            brokers=self._brokers() if has_quorum else None,
            partitions=partitions if has_quorum else None,
            dynamic_config=dict(self.config) if has_quorum else None,
            features=dict(self.features) if has_quorum else None,
            spread_to=self.spread_to,
        )

    def _node_state(self, node: ModelNode) -> NodeState:
        is_bad = node.revision in self.bad_revisions
        pod = PodState(
            f"{node.pool}-{node.ordinal}",
            node.uid,
            node.revision,
            is_ready=node.is_up and not is_bad,
            is_terminating=node.terminating > 0,
            waiting_reason="ImagePullBackOff" if is_bad else "",
        )
        standing = Standing(
            self.is_in_sync(node.node_id),
            "replicas are not in sync",
            sum(node.node_id in one.replicas for one in self.partitions.values()),
        )
        return NodeState(
            node.node_id,
            node.pool,
            node.ordinal,
            node.roles,
            self.revision,
            pod,
            node.rack,
            standing if node.is_up else None,
            node.node_id in self.draining_hosts,
        )

    def _quorum(self) -> QuorumState:
        voters = tuple(
            QuorumMember(node_id, directory_id, self._seems_to_vote(node_id))
            for node_id, directory_id in self.voters.items()
        )
        observers = tuple(
            QuorumMember(one.node_id, one.directory_id, self.is_in_sync(one.node_id))
            for one in self.nodes.values()
            if Role.CONTROLLER in one.roles
            and one.is_up
            and self.voters.get(one.node_id) != one.directory_id
        )
        former = tuple(QuorumMember(*one, is_caught_up=False) for one in self.former)
        return QuorumState(self.leader_id, voters, former + observers)

    def _brokers(self) -> Mapping[int, BrokerState]:
        return {
            node_id: BrokerState(
                node_id,
                self.nodes[node_id].rack if node_id in self.nodes else "",
                not (node_id in self.nodes and self.nodes[node_id].is_up),
                node_id in self.cordoned,
            )
            for node_id in self.registered
        }

    # --- what is done to it

    def carry_out(self, action: Action) -> None:
        if isinstance(action, Restart):
            self._restart(action)
        elif not self.has_quorum:
            return
        elif isinstance(action, AddVoter | RemoveVoter):
            self._change_voter(action)
        elif isinstance(action, Reassign):
            for move in action.moves:
                self.partitions[move.topic, move.number].target = move.replicas
        else:
            self._set(action)

    def _set(self, action: Action) -> None:
        match action:
            case MarkSpread():
                self.spread_to = action.node_ids
            case Cordon():
                (self.cordoned.add if action.is_cordoned else self.cordoned.discard)(action.node_id)
            case UnregisterBroker():
                assert action.node_id not in self.nodes, "it is there"
                self.registered.discard(action.node_id)
            case SetDynamicConfig():
                self._configure(action.changes)
            case UpdateFeatures():
                assert all(one.revision == self.revision for one in self.nodes.values())
                self.features.update(action.levels)
            case ElectPreferred():
                for key in action.partitions:
                    self.partitions[key].leader = self.partitions[key].replicas[0]
            case MoveLeaders():
                self._move_leaders(action.node_id)

    def _configure(self, changes: Mapping[str, str | None]) -> None:
        for name, value in changes.items():
            self.config.pop(name, None)
            if value is not None:
                self.config[name] = value

    def _move_leaders(self, node_id: int) -> None:
        for one in self.partitions.values():
            others = [each for each in self.isr(one) if each != node_id]
            if one.leader == node_id and others:
                one.leader = others[0]

    def _change_voter(self, action: AddVoter | RemoveVoter) -> None:
        if isinstance(action, AddVoter):
            node = self.nodes.get(action.node_id)
            if node is None or node.directory_id != action.directory_id:
                return
            self.voters[action.node_id] = action.directory_id
        elif self.voters.get(action.node_id) == action.directory_id:
            del self.voters[action.node_id]
            self.former.append((action.node_id, action.directory_id))
        assert self.has_quorum, f"{action} cost the quorum"

    def _restart(self, action: Restart) -> None:
        node = self.nodes.get(action.node_id)
        if node is None or node.uid != action.pod_uid:
            return
        if action.needs_permit and not self._permit(action):
            return
        had_quorum = self.has_quorum
        before = {key: len(self.isr(one)) for key, one in self.partitions.items()}
        node.terminating = self.rng.randint(1, 2)
        node.unseen = self.rng.randint(0, self.slow_turns_max)
        self._check_restart(node, before, had_quorum=had_quorum)

    def _check_restart(
        self, node: ModelNode, before: Mapping[tuple[str, int], int], *, had_quorum: bool
    ) -> None:
        for key, one in self.partitions.items():
            left = len(self.isr(one))
            lost = before[key] - left
            assert not lost or left >= MIN_ISR or len(one.replicas) == 1, (
                f"{key} has {left} in sync after a restart of {node.node_id}"
            )
        is_spared = len(self.voters) <= 2 or not had_quorum
        assert is_spared or self.has_quorum, f"no quorum after a restart of {node.node_id}"
        others = self._others(node)
        is_alone = Role.COORDINATOR not in node.roles or not others
        assert is_alone or any(one.is_up for one in others), f"nobody beside {node.node_id}"

    def _others(self, node: ModelNode) -> list[ModelNode]:
        """Of its pool."""
        return [one for one in self.nodes.values() if one.pool == node.pool and one is not node]

    def _permit(self, action: Restart) -> bool:
        """As the active controller decides it, on what it believes."""
        node_id = action.node_id
        if not self.has_quorum:
            return False
        if action.coordinator_role and action.peer_count:
            others = [one.node_id for one in self._others(self.nodes[node_id])]
            if not any(self._seems_in_sync(one) and one not in self.permits for one in others):
                return False
        down = {one for one in self.permits if one != node_id} | {node_id}
        for one in self.partitions.values():
            isr = self.believed_isr(one)
            left = [each for each in isr if each not in down]
            if node_id in isr and len(left) < MIN_ISR and len(one.replicas) > 1:
                return False
        if node_id in self.voters and len(self.voters) > 2:
            left = [one for one in self.voters if self._seems_to_vote(one) and one not in down]
            if len(left) < len(self.voters) // 2 + 1:
                return False
        self.permits[node_id] = self.rng.randint(1, self.slow_turns_max)
        return True

    # --- time

    def turn(self) -> None:
        self.permits = {one: left - 1 for one, left in self.permits.items() if left > 1}
        for node in list(self.nodes.values()):
            node.unseen = max(node.unseen - 1, 0)
            self._turn_node(node)
        for one in self.partitions.values():
            self._turn_partition(one)

    def _turn_node(self, node: ModelNode) -> None:
        slow = self.slow_turns_max
        if node.terminating:
            node.terminating -= 1
            if not node.terminating:
                self._made += 1
                node.uid, node.revision = f"uid-{self._made}", self.revision
                node.starting = self.rng.randint(1, slow)
        elif node.crashed:
            node.crashed -= 1
            node.starting = self.rng.randint(1, slow)
        elif node.starting and node.revision not in self.bad_revisions:
            node.starting -= 1
            node.lagging = self.rng.randint(0, slow)
        elif node.lagging:
            node.lagging -= 1

    def _turn_partition(self, one: ModelPartition) -> None:
        if one.target is not None and all(map(self.is_in_sync, one.target)):
            one.replicas, one.target = one.target, None
        isr = self.isr(one)
        if one.leader not in isr and isr:
            one.leader = isr[0]

    def crash(self, node_id: int) -> None:
        node = self.nodes[node_id]
        if node.is_up:
            node.crashed = self.rng.randint(1, 6)
            node.unseen = self.rng.randint(0, 2)

    def lose_disk(self, node_id: int) -> None:
        """It is no longer what votes, however soon it has caught up."""
        self._made += 1
        self.nodes[node_id].directory_id = f"dir-{self._made}".encode()
        self.nodes[node_id].lagging = 2

    # --- an operator beside it

    def step(self, wish: Desired, *, dies_after: int | None = None) -> Plan:
        """One round of an operator, which may die within it."""
        wish = replace(wish, pools=tuple(self.pools.values()))
        made = plan(wish, self.observed())
        for name, replicas in made.replicas.items():
            if replicas != self.pools[name].present_replicas:
                self.resize(name, replicas)
        for action in made.actions[:dies_after]:
            self.carry_out(action)
        return made
