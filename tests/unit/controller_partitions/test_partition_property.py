"""Whatever happens to brokers and partitions, in whatever order: what is never true of a partition.

The steps are those of a cluster: brokers are fenced, come back, shut down, restart with and without
their data, lose directories; leaders ask for other ISRs; operators reassign, cancel and elect.
"""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_controller.managers.partitions.alter_partition import decide_alter_partition
from barnabas_controller.managers.partitions.broker_changes import (
    records_for_controlled_shutdown,
    records_for_fencing,
    records_for_offline_dirs,
    records_for_unclean_shutdown,
    records_for_unfencing,
)
from barnabas_controller.managers.partitions.elect_leaders import (
    decide_balance_leaders,
    decide_elect_leaders,
    decide_unclean_elections,
)
from barnabas_controller.managers.partitions.min_isr import unclean_election_enabled
from barnabas_controller.managers.partitions.reassignment import (
    decide_alter_partition_reassignments,
)
from barnabas_controller.managers.partitions.surroundings import surroundings
from barnabas_controller.managers.replica_index import ReplicaIndex
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERING, PartitionImage
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas_core.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.elect_leaders_request import (
    ElectLeadersRequest,
    TopicPartitions,
)
from tests.support.controller_lab import ControllerLab

BROKERS = (1, 2, 3, 4, 5)
PARTITIONS = (0, 1)
UNCLEAN = 1

Step = tuple[str, int, tuple[int, ...]]
"""(what, a broker or partition, brokers)"""


class Cluster:
    def __init__(self, *, elr: bool, level: int | None = None) -> None:
        self.lab = ControllerLab(metadata_level=level, features=None if elr else {})
        for broker_id in BROKERS:
            self.lab.register_broker(broker_id, dirs=1 + broker_id % 2)
        self.lab.create_topic("orders", {0: [1, 2, 3], 1: [4, 2, 5]})
        self.restarts = 0
        self.unclean_asked_for = False
        self.joined: tuple[int, ...] = ()
        """Who was told by its leader to be in sync in this step."""

    # --- brokers

    def fence(self, broker_id: int, _: tuple[int, ...]) -> None:
        if not self.lab.image.cluster.brokers[broker_id].is_fenced:
            self.lab.apply(records_for_fencing(self.lab.view(), broker_id))
            self.lab.change_broker(broker_id, fenced=True)

    def unfence(self, broker_id: int, _: tuple[int, ...]) -> None:
        broker = self.lab.image.cluster.brokers[broker_id]
        if broker.is_fenced and not broker.in_controlled_shutdown:
            records = records_for_unfencing(self.lab.view(), broker_id)
            self.lab.change_broker(broker_id, fenced=False)
            self.lab.apply(records)

    def shut_down(self, broker_id: int, _: tuple[int, ...]) -> None:
        if self.lab.image.cluster.brokers[broker_id].is_active:
            records = records_for_controlled_shutdown(self.lab.view(), broker_id)
            self.lab.change_broker(broker_id, in_controlled_shutdown=True)
            self.lab.apply(records)

    def restart(self, broker_id: int, _: tuple[int, ...]) -> None:
        self.lab.apply(records_for_fencing(self.lab.view(), broker_id))
        self._register(broker_id)

    def crash(self, broker_id: int, _: tuple[int, ...]) -> None:
        self.lab.apply(records_for_unclean_shutdown(self.lab.view(), broker_id))
        self._register(broker_id)

    def lose_directory(self, broker_id: int, _: tuple[int, ...]) -> None:
        first, *others = self.lab.image.cluster.brokers[broker_id].log_dirs or (b"",)
        if others:
            self.lab.apply(records_for_offline_dirs(self.lab.view(), broker_id, [first]))
            self.lab.change_broker(broker_id, log_dirs=others)

    def _register(self, broker_id: int) -> None:
        self.restarts += 1
        dirs = len(self.lab.image.cluster.brokers[broker_id].log_dirs)
        self.lab.register_broker(broker_id, dirs=dirs, unfenced=False, incarnation=self.restarts)

    # --- partitions

    def alter(self, number: int, isr: tuple[int, ...]) -> None:
        number %= len(PARTITIONS)
        partition = self.lab.partition("orders", number)
        brokers = self.lab.image.cluster.brokers
        if not partition.has_leader:
            return
        self.joined = tuple(
            b
            for b in partition.replicas
            if b == partition.leader or (b in isr and brokers[b].is_active)
        )
        self.lab.decide(
            decide_alter_partition,
            AlterPartitionRequest(
                partition.leader,
                brokers[partition.leader].epoch,
                [TopicData(self.lab.topic_id("orders"), [self._wanted(number, partition)])],
            ),
        )

    def _wanted(self, number: int, partition: PartitionImage) -> PartitionData:
        brokers = self.lab.image.cluster.brokers
        return PartitionData(
            partition_index=number,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[BrokerState(b, brokers[b].epoch) for b in self.joined],
        )

    def reassign(self, number: int, replicas: tuple[int, ...]) -> None:
        self._alter_reassignment(number, list(replicas))

    def cancel(self, number: int, _: tuple[int, ...]) -> None:
        self._alter_reassignment(number, None)

    def _alter_reassignment(self, number: int, replicas: list[int] | None) -> None:
        partition = ReassignablePartition(number % len(PARTITIONS), replicas)
        request = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic("orders", [partition])]
        )
        self.lab.decide(decide_alter_partition_reassignments, request)

    def elect_preferred(self, number: int, _: tuple[int, ...]) -> None:
        self._elect(0, number)

    def elect_unclean(self, number: int, _: tuple[int, ...]) -> None:
        self.unclean_asked_for = True
        self._elect(UNCLEAN, number)

    def _elect(self, kind: int, number: int) -> None:
        topics = [TopicPartitions("orders", [number % len(PARTITIONS)])]
        self.lab.decide(decide_elect_leaders, ElectLeadersRequest(kind, topics))

    def balance(self, _: int, __: tuple[int, ...]) -> None:
        self.lab.run(decide_balance_leaders)
        self.lab.run(decide_unclean_elections)

    # --- configs

    def allow_unclean(self, number: int, _: tuple[int, ...]) -> None:
        allowed = "true" if number % 2 else "false"
        self.lab.set_topic_config("orders", "unclean.leader.election.enable", allowed)

    def set_min_isr(self, number: int, _: tuple[int, ...]) -> None:
        self.lab.set_topic_config("orders", "min.insync.replicas", str(1 + number % 3))


STEPS: dict[str, Callable[[Cluster, int, tuple[int, ...]], None]] = {
    "fence": Cluster.fence,
    "unfence": Cluster.unfence,
    "shut down": Cluster.shut_down,
    "restart": Cluster.restart,
    "crash": Cluster.crash,
    "lose directory": Cluster.lose_directory,
    "alter": Cluster.alter,
    "reassign": Cluster.reassign,
    "cancel": Cluster.cancel,
    "elect preferred": Cluster.elect_preferred,
    "elect unclean": Cluster.elect_unclean,
    "balance": Cluster.balance,
    "allow unclean": Cluster.allow_unclean,
    "set min isr": Cluster.set_min_isr,
}
# Brokers must come back as often as they go, or most steps find nobody to ask.
WEIGHTED = [*STEPS, "unfence", "unfence", "unfence", "alter", "alter", "reassign"]


def steps() -> st.SearchStrategy[list[Step]]:
    some = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True).map(tuple)
    step = st.tuples(st.sampled_from(WEIGHTED), st.sampled_from(BROKERS), some)
    return st.lists(step, min_size=1, max_size=40)


def check_state(cluster: Cluster, partition: PartitionImage) -> None:
    isr, replicas = set(partition.isr), set(partition.replicas)
    eligible = set(partition.eligible_leader_replicas)
    adding, removing = set(partition.adding_replicas), set(partition.removing_replicas)
    assert len(isr) == len(partition.isr)
    assert len(replicas) == len(partition.replicas) == len(partition.directories) > 0
    assert isr <= replicas
    assert eligible <= replicas - isr
    assert partition.leader in {NO_LEADER, *isr}
    assert adding <= replicas
    assert removing <= replicas - adding
    if not cluster.lab.has_elr:
        assert isr
        assert not eligible
        assert not partition.last_known_elr


def check_reassignment(partition: PartitionImage) -> None:
    """Once its leader has spoken, a reassignment that can end has ended.

    An election that fills an empty ISR does not end it: who was elected will tell.
    """
    isr, replicas = set(partition.isr), set(partition.replicas)
    adding, removing = set(partition.adding_replicas), set(partition.removing_replicas)
    if partition.is_reassigning:
        needed = replicas - removing if len(adding) < len(removing) else adding
        assert not needed <= isr - removing or (removing and not isr - removing)


def check_leader(cluster: Cluster, partition: PartitionImage) -> None:
    """Who leads is alive; if nobody leads, nobody could do so cleanly."""
    may_lead = surroundings(cluster.lab.view(), partition).may_lead
    if partition.has_leader:
        assert may_lead(partition.leader)
    else:
        clean = partition.isr or partition.eligible_leader_replicas
        assert not [broker_id for broker_id in clean if may_lead(broker_id)]


def check_step(cluster: Cluster, old: PartitionImage, new: PartitionImage) -> None:
    assert new.partition_epoch >= old.partition_epoch
    assert new.leader_epoch >= old.leader_epoch
    if new != old:
        assert new.partition_epoch > old.partition_epoch
    if new.leader == old.leader:
        return
    assert new.leader_epoch > old.leader_epoch
    if not new.has_leader:
        return
    if new.leader not in {*old.isr, *old.eligible_leader_replicas, *cluster.joined}:
        view = cluster.lab.view()
        is_last_known = not old.isr and old.last_known_elr == (new.leader,)
        is_allowed = cluster.unclean_asked_for or unclean_election_enabled(view, "orders")
        assert is_last_known or is_allowed
        assert new.isr == (new.leader,)
        assert new.leader_recovery_state == RECOVERING


def check_index(cluster: Cluster) -> None:
    rebuilt = ReplicaIndex(cluster.lab.image.topics)
    kept = cluster.lab.replicas
    assert sorted(kept.leaderless()) == sorted(rebuilt.leaderless())
    assert sorted(kept.reassigning()) == sorted(rebuilt.reassigning())
    for broker_id in BROKERS:
        assert sorted(kept.partitions_of(broker_id)) == sorted(rebuilt.partitions_of(broker_id))


def run(cluster: Cluster, steps: list[Step]) -> None:
    for what, at, brokers in steps:
        before = [cluster.lab.partition("orders", number) for number in PARTITIONS]
        cluster.unclean_asked_for = False
        cluster.joined = ()
        STEPS[what](cluster, at, brokers)
        after = [cluster.lab.partition("orders", number) for number in PARTITIONS]
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            check_state(cluster, new)
            check_leader(cluster, new)
            check_step(cluster, old, new)
            if what == "alter" and new.has_leader and at % len(PARTITIONS) == number:
                check_reassignment(new)
        check_index(cluster)
    cluster.lab.check_snapshot()


@settings(max_examples=max(150, settings().max_examples))
@given(steps=steps())
def test_no_order_of_events_breaks_a_partition(steps: list[Step]) -> None:
    run(Cluster(elr=True), steps)


@settings(max_examples=max(100, settings().max_examples))
@given(steps=steps(), level=st.sampled_from([7, 17, 30]))
def test_no_order_of_events_breaks_a_partition_without_elr(steps: list[Step], level: int) -> None:
    run(Cluster(elr=False, level=level), steps)
