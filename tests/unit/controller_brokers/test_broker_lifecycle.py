"""Random lives of brokers: whatever they do, the metadata stays sound."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_controller.managers.brokers.fencing import decide_fence_stale_brokers
from barnabas_controller.managers.brokers.unregistration import decide_unregister_broker
from barnabas_controller.managers.liveness import BrokerLiveness
from barnabas_core.metadata.feature import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas_core.metadata.partition_image import NO_LEADER, PartitionImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from tests.support.broker_life import heartbeat, register
from tests.support.controller_lab import SETTINGS, ControllerLab, directory_id

BROKERS = (1, 2, 3)
TOPICS = {"one": {0: [1]}, "two": {0: [1, 2], 1: [2, 3]}, "three": {0: [1, 2, 3], 1: [3, 1, 2]}}


class Cluster:
    """A controller and its brokers, and what has to hold after each step."""

    def __init__(self, *, has_elr: bool) -> None:
        features = {ELIGIBLE_LEADER_REPLICAS_VERSION: 1} if has_elr else {}
        self.has_elr = has_elr
        self.lab = ControllerLab(
            replace(SETTINGS, min_insync_replicas=2, max_records_per_decision=100),
            features=features,
        )
        self.epochs: dict[int, int] = {}
        """As each broker learnt it."""
        self.last_epoch = -1
        self.incarnations = dict.fromkeys(BROKERS, 0)
        self.heard_at_ms: dict[int, int] = {}
        self.cut: set[int] = set()
        for broker_id in BROKERS:
            self.register(broker_id, 0)
            self.beat(broker_id, 0)
        for name, partitions in TOPICS.items():
            self.lab.create_topic(name, partitions)

    # --- steps; each takes a broker and a number to vary it

    def register(self, broker_id: int, variant: int) -> None:
        if variant % 2:
            self.incarnations[broker_id] += 1
        before = self.lab.image.cluster.brokers.get(broker_id)
        answer = register(
            self.lab,
            broker_id,
            incarnation=self.incarnations[broker_id],
            log_dirs=[directory_id(broker_id, 0), directory_id(broker_id, 1)],
            previous_broker_epoch=self.epochs.get(broker_id, -1) if variant & 2 else -1,
        )
        if answer.error_code != ErrorCode.NONE:
            assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
            return
        if before is None or before.epoch != answer.broker_epoch:
            assert answer.broker_epoch > self.last_epoch
            self.last_epoch = answer.broker_epoch
        self.epochs[broker_id] = answer.broker_epoch
        self._heard(broker_id)

    def beat(self, broker_id: int, variant: int) -> None:
        self._beat(broker_id, lag=variant)

    def shut_down(self, broker_id: int, variant: int) -> None:
        self._beat(broker_id, want_shut_down=True)

    def fence(self, broker_id: int, variant: int) -> None:
        self._beat(broker_id, want_fence=True)

    def lose_directory(self, broker_id: int, variant: int) -> None:
        self._beat(broker_id, offline=(directory_id(broker_id, variant % 2),))

    def unregister(self, broker_id: int, variant: int) -> None:
        self.lab.decide(decide_unregister_broker, UnregisterBrokerRequest(broker_id=broker_id))
        self.heard_at_ms.pop(broker_id, None)

    def break_link(self, broker_id: int, variant: int) -> None:
        epoch = self.epochs[broker_id]
        self.lab.liveness.on_link_closed(broker_id, epoch, self.lab.clock.monotonic_ms(), 2_000)
        self.cut.add(broker_id)

    def wait(self, broker_id: int, variant: int) -> None:
        self.lab.clock.advance(1 + variant * 2_500)
        while (fenced := self.lab.run(decide_fence_stale_brokers)) is not None:
            silence_ms = self.lab.clock.monotonic_ms() - self.heard_at_ms[fenced]
            assert silence_ms >= 9_000 or fenced in self.cut

    def fail_over(self, broker_id: int, variant: int) -> None:
        lab = self.lab
        lab.liveness = BrokerLiveness(lab.settings.broker_session_timeout_ms)
        lab.liveness.restart(lab.image, lab.clock.monotonic_ms())
        self.heard_at_ms = dict.fromkeys(BROKERS, lab.clock.monotonic_ms())
        self.cut.clear()

    def _beat(
        self,
        broker_id: int,
        *,
        lag: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline: tuple[bytes, ...] = (),
    ) -> None:
        answer = heartbeat(
            self.lab,
            broker_id,
            epoch=self.epochs[broker_id],
            offset=self.lab.next_offset - 1 - lag,
            want_fence=want_fence,
            want_shut_down=want_shut_down,
            offline=offline,
        )
        if answer.error_code == ErrorCode.NONE:
            self._heard(broker_id)
            broker = self.lab.image.cluster.brokers[broker_id]
            assert answer.is_fenced == broker.is_fenced
            assert not answer.should_shut_down or broker.is_fenced

    def _heard(self, broker_id: int) -> None:
        self.heard_at_ms[broker_id] = self.lab.clock.monotonic_ms()
        self.cut.discard(broker_id)

    # --- what holds

    def check(self) -> None:
        brokers = self.lab.image.cluster.brokers
        for broker in brokers.values():
            session = self.lab.liveness.sessions.get(broker.id)
            # Without a session nobody would ever fence it.
            assert broker.is_fenced or (
                session is not None and session.broker_epoch == broker.epoch
            )
        for topic in self.lab.image.topics:
            for partition in topic.partitions.values():
                self._check_partition(partition)

    def _check_partition(self, partition: PartitionImage) -> None:
        brokers = self.lab.image.cluster.brokers
        up = [b for b in partition.isr if b in brokers and not brokers[b].is_fenced]
        assert set(partition.isr) <= set(partition.replicas)
        assert set(partition.eligible_leader_replicas) <= set(partition.replicas)
        assert not set(partition.eligible_leader_replicas) & set(partition.isr)
        if partition.leader != NO_LEADER:
            assert partition.leader in up
        if self.has_elr or len(partition.isr) > 1:
            assert list(partition.isr) == up


STEPS: tuple[Callable[[Cluster, int, int], None], ...] = (
    Cluster.register,
    Cluster.beat,
    Cluster.beat,
    Cluster.shut_down,
    Cluster.fence,
    Cluster.lose_directory,
    Cluster.unregister,
    Cluster.break_link,
    Cluster.wait,
    Cluster.fail_over,
)


@settings(max_examples=150, deadline=None)
@given(
    has_elr=st.booleans(),
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(BROKERS), st.integers(0, 4)), max_size=40
    ),
)
def test_no_life_of_a_broker_breaks_the_metadata(
    has_elr: bool, steps: list[tuple[Callable[[Cluster, int, int], None], int, int]]
) -> None:
    cluster = Cluster(has_elr=has_elr)

    for step, broker_id, variant in steps:
        epochs = _epochs(cluster)
        step(cluster, broker_id, variant)
        cluster.check()
        after = _epochs(cluster)
        assert all(after[key] >= epochs[key] for key in epochs)


def _epochs(cluster: Cluster) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (topic.name, number): (partition.leader_epoch, partition.partition_epoch)
        for topic in cluster.lab.image.topics
        for number, partition in topic.partitions.items()
    }
