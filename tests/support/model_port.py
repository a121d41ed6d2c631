"""A cluster behind pods that a `SmallKubelet` runs: what it says follows from which pods are ready.

It refuses as a controller does: no permit that would bring a partition under min ISR or the quorum
below its majority, pods that were let go counted as down. What was done to it is kept, in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from barnabas_operator.health.cluster_port import ClusterView, PermitAnswer, Refused, Unavailable
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
from barnabas_operator.plan.observed import (
    BrokerState,
    NodeState,
    PartitionState,
    QuorumMember,
    QuorumState,
    Standing,
)
from barnabas_operator.plan.topic_state import (
    AddPartitions,
    AlterTopicConfig,
    CreateTopic,
    DeleteTopic,
    MoveReplicas,
    TopicAction,
    TopicState,
)
from tests.support.small_kubelet import SmallKubelet, is_ready

MIN_ISR = 2
CONTROLLERS_FROM = 100_000
COORDINATORS_FROM = 200_000


class ModelPort:
    def __init__(self, kubelet: SmallKubelet, cluster: str) -> None:
        self._kubelet = kubelet
        self._prefix = f"{cluster}-"
        self.topics: dict[str, TopicState] = {}
        self.voters: set[int] = set()
        self.directories: dict[int, bytes] = {}
        """Of controllers that lost their first disk."""
        self._voting: dict[int, bytes] = {}
        self.cordoned: set[int] = set()
        self.registered: set[int] = set()
        self.config: dict[str, str] = {}
        self.features: dict[str, int] = {}
        self.permitted: dict[int, str] = {}
        """Node to the uid of the pod that was let go."""
        self.asked_for: list[Restart] = []
        """For which a permit was wanted."""
        self.done: list[Action] = []
        self.topic_requests = 0
        self.refuses_config = False
        self.is_silent = False

    # --- what there is

    def _pods(self) -> dict[int, str]:
        """Node id to uid, of pods that are ready."""
        return {
            int(name.rpartition("-")[2]): pod["metadata"]["uid"]
            for name, pod in self._kubelet.pods.items()
            if name.startswith(self._prefix) and is_ready(pod)
        }

    def _up(self) -> set[int]:
        pods = self._pods()
        back = [one for one, uid in self.permitted.items() if pods.get(one) not in (None, uid)]
        for one in back:
            del self.permitted[one]
        return set(pods) - self.permitted.keys()

    def _brokers(self) -> dict[int, BrokerState]:
        up = self._up()
        self.registered |= {one for one in self._pods() if one < CONTROLLERS_FROM}
        return {
            one: BrokerState(one, f"zone-{one % 3}", one not in up, one in self.cordoned)
            for one in self.registered
        }

    def _with_isr(self, topic: TopicState) -> TopicState:
        up = self._up()
        partitions = tuple(
            replace(one, isr=tuple(each for each in one.replicas if each in up))
            for one in topic.partitions
        )
        return replace(topic, partitions=partitions)

    def lose_disk(self, node_id: int) -> None:
        self.directories[node_id] = b"other"

    def _directory(self, node_id: int) -> bytes:
        return self.directories.get(node_id, b"%d" % node_id)

    def _votes_as(self, node_id: int) -> bytes:
        return self._voting.get(node_id, b"%d" % node_id)

    async def view(self) -> ClusterView:
        up = {one for one in self._up() if CONTROLLERS_FROM <= one < COORDINATORS_FROM}
        self.voters = self.voters or set(up)
        alive = {one for one in self.voters & up if self._votes_as(one) == self._directory(one)}
        if self.is_silent or not self.voters or len(alive) < len(self.voters) // 2 + 1:
            raise Unavailable("no leader")
        quorum = QuorumState(
            min(alive),
            tuple(
                QuorumMember(one, self._votes_as(one), one in alive) for one in sorted(self.voters)
            ),
            tuple(QuorumMember(one, self._directory(one)) for one in sorted(up - alive)),
        )
        return ClusterView(
            quorum,
            self._brokers(),
            {name: self._with_isr(one) for name, one in self.topics.items()},
            dict(self.config),
            dict(self.features),
            dict.fromkeys(self.topics, MIN_ISR),
            {name: name.encode().ljust(16, b"\0")[:16] for name in self.topics},
        )

    async def standing(self, node: NodeState) -> Standing | None:
        if node.node_id not in self._pods():
            return None
        held = sum(
            node.node_id in one.replicas
            for topic in self.topics.values()
            for one in topic.partitions
        )
        return Standing(node.node_id in self._up(), "not in sync", held)

    async def permit(self, restart: Restart) -> PermitAnswer:
        node_id = restart.node_id
        left = self._up() - {node_id}
        self.asked_for.append(restart)
        needs_peer = restart.coordinator_role and restart.peer_count
        if needs_peer and not any(one >= COORDINATORS_FROM for one in left):
            return PermitAnswer(0, ("no group coordinator would be left",))
        for topic in self.topics.values():
            for one in topic.partitions:
                isr = [each for each in one.replicas if each in left]
                if node_id in one.replicas and len(isr) < MIN_ISR < len(one.replicas):
                    return PermitAnswer(0, (f"{one.topic} would be under min ISR",))
        is_short = len(self.voters & left) < len(self.voters) // 2 + 1
        if node_id in self.voters and len(self.voters) > 2 and is_short:
            return PermitAnswer(0, ("the quorum would lose its majority",))
        self.permitted[node_id] = self._pods().get(node_id, "")
        return PermitAnswer(60_000)

    # --- what is done to it

    async def carry_out(self, action: Action) -> None:
        self.done.append(action)
        match action:
            case AddVoter():
                self.voters.add(action.node_id)
                self._voting[action.node_id] = action.directory_id
            case RemoveVoter():
                self.voters.discard(action.node_id)
            case Cordon():
                (self.cordoned.add if action.is_cordoned else self.cordoned.discard)(action.node_id)
            case UnregisterBroker():
                self.registered.discard(action.node_id)
            case Reassign():
                for move in action.moves:
                    self._place(move.topic, move.number, move.replicas)
            case _:
                self._set(action)

    def _set(self, action: Action) -> None:
        match action:
            case SetDynamicConfig():
                if self.refuses_config:
                    raise Refused("INVALID_CONFIG: not that")
                for name, value in action.changes.items():
                    self.config.pop(name, None)
                    if value is not None:
                        self.config[name] = value
            case UpdateFeatures():
                self.features.update(action.levels)
            case ElectPreferred() | MoveLeaders():
                pass

    def _place(self, topic: str, number: int, replicas: tuple[int, ...]) -> None:
        known = self.topics[topic]
        partitions = tuple(
            replace(one, replicas=replicas, leader=replicas[0]) if one.number == number else one
            for one in known.partitions
        )
        self.topics[topic] = replace(known, partitions=partitions)

    def add_topic(self, name: str, count: int, *replicas: int, **config: str) -> None:
        partitions = tuple(
            PartitionState(name, number, replicas, replicas, replicas[0]) for number in range(count)
        )
        self.topics[name] = TopicState(partitions, config)

    async def carry_out_topics(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        self.topic_requests += 1
        brokers = sorted(one for one in self._up() if one < CONTROLLERS_FROM)
        refused = {}
        for action in actions:
            match action:
                case CreateTopic():
                    if (action.replicas or 1) > len(brokers):
                        refused[action.topic] = "INVALID_REPLICATION_FACTOR"
                        continue
                    held = tuple(brokers[: action.replicas or 1])
                    self.add_topic(action.topic, action.partitions or 1, *held)
                    self.topics[action.topic] = replace(
                        self.topics[action.topic], config=dict(action.config)
                    )
                case DeleteTopic():
                    self.topics.pop(action.topic, None)
                case MoveReplicas():
                    for number, ids in action.replicas.items():
                        self._place(action.topic, number, ids)
                case AddPartitions() | AlterTopicConfig():
                    self._change(action)
        return refused

    def _change(self, action: AddPartitions | AlterTopicConfig) -> None:
        known = self.topics[action.topic]
        if isinstance(action, AddPartitions):
            self.add_topic(action.topic, action.count, *known.partitions[0].replicas)
            self.topics[action.topic] = replace(self.topics[action.topic], config=known.config)
            return
        config = {**known.config, **{k: v for k, v in action.changes.items() if v is not None}}
        for name, value in action.changes.items():
            if value is None:
                config.pop(name, None)
        self.topics[action.topic] = replace(known, config=config)

    async def close(self) -> None:
        """Nothing is open."""
