"""Whatever happens: no plan breaks min ISR or the quorum, and every plan ends when nodes recover.

The model asserts the first by itself, at every restart, voter and place that goes.
"""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import Role
from tests.support.model_cluster import ModelCluster, ModelPartition

TURNS_MAX = 1_500
CONTROLLERS, COORDINATORS, BROKERS = "controllers", "group", "brokers"


def pool(name: str, first: int, replicas: int, *roles: Role) -> PoolWish:
    return PoolWish(name, frozenset(roles), first, replicas, replicas, first + 100)


def model(rng: Random, *, controllers: int, brokers: int) -> ModelCluster:
    pools = [
        pool(CONTROLLERS, 100, controllers, Role.CONTROLLER),
        pool(COORDINATORS, 200, 2, Role.COORDINATOR),
        pool(BROKERS, 0, brokers, Role.BROKER),
    ]
    cluster = ModelCluster(rng, {one.name: one for one in pools})
    cluster.start()
    for number in range(12):
        replicas = tuple(rng.sample(range(brokers), 3))
        cluster.partitions["t", number] = ModelPartition(replicas, replicas[0])
    return cluster


def wish(**changes: object) -> Desired:
    return replace(Desired(()), **changes)  # type: ignore[arg-type]


def run_until_settled(cluster: ModelCluster, desired: Desired) -> None:
    for _ in range(TURNS_MAX):
        made = cluster.step(desired)
        if made.is_settled and all(
            one.revision == cluster.revision for one in cluster.nodes.values()
        ):
            return
        cluster.turn()
    raise AssertionError(f"it never ends: {made.blocked_by}, {made.roll}")


def trouble(cluster: ModelCluster, desired: Desired, turns: int) -> None:
    """The operator dies within its rounds, and nodes crash; at most one at a time."""
    for _ in range(turns):
        cluster.step(desired, dies_after=cluster.rng.choice([None, 0, 1, 2]))
        is_whole = all(cluster.is_in_sync(one) for one in cluster.nodes)
        if is_whole and cluster.rng.random() < 0.2:
            cluster.crash(cluster.rng.choice(sorted(cluster.nodes)))
        cluster.turn()


SEEDS = st.integers(0, 2**32)


@given(seed=SEEDS, per_rack=st.integers(1, 4))
def test_a_roll_spares_min_isr_and_quorum_and_ends(seed: int, per_rack: int) -> None:
    cluster = model(Random(seed), controllers=3, brokers=7)
    cluster.revision = "r2"
    desired = wish(max_unavailable_per_rack=per_rack)

    trouble(cluster, desired, 30)
    run_until_settled(cluster, desired)

    assert {one.revision for one in cluster.nodes.values()} == {"r2"}


@given(seed=SEEDS)
def test_a_bad_revision_reaches_one_pod_and_its_correction_all(seed: int) -> None:
    cluster = model(Random(seed), controllers=3, brokers=4)
    cluster.revision, cluster.bad_revisions = "bad", frozenset({"bad"})

    for _ in range(60):
        cluster.step(wish())
        cluster.turn()

    assert sum(one.revision == "bad" for one in cluster.nodes.values()) == 1
    cluster.revision = "good"
    run_until_settled(cluster, wish())


@given(seed=SEEDS)
def test_a_generation_that_comes_meanwhile_takes_over(seed: int) -> None:
    rng = Random(seed)
    cluster = model(rng, controllers=3, brokers=4)
    for number in range(5):
        cluster.revision = f"r{number + 2}"
        trouble(cluster, wish(), rng.randint(1, 12))

    run_until_settled(cluster, wish())


@given(seed=SEEDS, sizes=st.lists(st.sampled_from([1, 3, 5]), min_size=1, max_size=3))
def test_controllers_come_and_go_without_losing_the_quorum(seed: int, sizes: list[int]) -> None:
    cluster = model(Random(seed), controllers=3, brokers=3)
    for size in sizes:
        cluster.pools[CONTROLLERS] = replace(cluster.pools[CONTROLLERS], replicas=size)
        trouble(cluster, wish(), 10)
        run_until_settled(cluster, wish())

        assert sorted(cluster.voters) == [100 + one for one in range(size)]


@given(seed=SEEDS, who=st.integers(100, 102))
def test_a_controller_whose_disk_is_lost_votes_again(seed: int, who: int) -> None:
    cluster = model(Random(seed), controllers=3, brokers=3)
    cluster.lose_disk(who)
    cluster.revision = "r2"

    run_until_settled(cluster, wish())

    assert cluster.voters[who] == cluster.nodes[who].directory_id


@given(seed=SEEDS, sizes=st.lists(st.integers(3, 7), min_size=1, max_size=3))
def test_brokers_come_and_go_with_their_replicas(seed: int, sizes: list[int]) -> None:
    cluster = model(Random(seed), controllers=3, brokers=4)
    for size in sizes:
        cluster.pools[BROKERS] = replace(cluster.pools[BROKERS], replicas=size)
        trouble(cluster, wish(), 10)
        run_until_settled(cluster, wish())

        assert sorted(cluster.registered) == list(range(size))
        held = {each for one in cluster.partitions.values() for each in one.replicas}
        assert held == set(range(size)), "every broker has its share"


@given(seed=SEEDS)
def test_with_everything_at_once_it_still_ends(seed: int) -> None:
    cluster = model(Random(seed), controllers=1, brokers=5)
    cluster.pools[CONTROLLERS] = replace(cluster.pools[CONTROLLERS], replicas=3)
    cluster.pools[BROKERS] = replace(cluster.pools[BROKERS], replicas=3)
    cluster.revision = "r2"
    desired = wish(dynamic_config={"log.retention.ms": "1000"}, features={"metadata.version": 27})

    trouble(cluster, desired, 20)
    run_until_settled(cluster, desired)

    assert cluster.config == {"log.retention.ms": "1000"}
    assert cluster.features == {"metadata.version": 27}
