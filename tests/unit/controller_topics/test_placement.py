"""Placement: what is never true of any cluster, and what its aims come to in small ones."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_controller.managers.topics.placement import Candidate, CannotPlace, place
from barnabas_core.runtime.rng import SeededRng

SEEDS = st.integers(0, 2**32)


@st.composite
def clusters(draw: st.DrawFn) -> list[Candidate]:
    """Brokers in up to four racks, at least one of them unfenced."""
    ids = draw(st.lists(st.integers(0, 50), min_size=1, max_size=12, unique=True))
    racks = st.sampled_from([None, "a", "b", "c"])
    brokers = [Candidate(each, draw(racks), draw(st.booleans())) for each in ids]
    unfenced = draw(st.sampled_from(brokers))
    return [b if b != unfenced else Candidate(b.id, b.rack, is_fenced=False) for b in brokers]


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[Candidate], int, int]:
    brokers = draw(clusters())
    return brokers, draw(st.integers(1, 30)), draw(st.integers(1, len(brokers)))


def unfenced(count: int, rack_count: int = 1) -> list[Candidate]:
    return [Candidate(each, f"rack-{each % rack_count}", is_fenced=False) for each in range(count)]


@given(requests(), SEEDS)
def test_no_partition_has_two_replicas_on_a_broker(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request

    placed = place(brokers, partition_count, factor, SeededRng(seed))

    assert len(placed) == partition_count
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= {each.id for each in brokers}


@given(requests(), SEEDS)
def test_a_fenced_broker_is_never_first(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request
    fenced = {each.id for each in brokers if each.is_fenced}

    for replicas in place(brokers, partition_count, factor, SeededRng(seed)):
        assert replicas[0] not in fenced


@given(requests(), SEEDS)
def test_a_rack_has_two_replicas_more_than_another_only_if_that_one_is_full(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request
    rack_of = {each.id: each.rack for each in brokers}
    sizes = Counter(rack_of.values())

    for replicas in place(brokers, partition_count, factor, SeededRng(seed)):
        counts = Counter(rack_of[each] for each in replicas)
        free = [rack for rack in sizes if counts[rack] < sizes[rack]]
        assert all(max(counts.values()) - counts[rack] <= 1 for rack in free)


@given(requests(), SEEDS)
def test_a_fenced_broker_is_taken_only_when_its_rack_has_no_unfenced_one_left(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request
    by_id = {each.id: each for each in brokers}

    for replicas in place(brokers, partition_count, factor, SeededRng(seed)):
        for chosen in (by_id[each] for each in replicas):
            left = [b for b in brokers if b.rack == chosen.rack and b.id not in replicas]
            assert not chosen.is_fenced or all(b.is_fenced for b in left)


@given(requests(), SEEDS)
def test_unfenced_brokers_lead_equally_many_give_or_take_one(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request

    placed = place(brokers, partition_count, factor, SeededRng(seed))

    leads = Counter(replicas[0] for replicas in placed)
    counts = [leads[each.id] for each in brokers if not each.is_fenced]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 60), st.data(), SEEDS)
def test_equal_racks_of_unfenced_brokers_carry_equally_many_replicas_give_or_take_two(
    rack_count: int, rack_size: int, partition_count: int, data: st.DataObject, seed: int
) -> None:
    brokers = unfenced(rack_count * rack_size, rack_count)
    factor = data.draw(st.integers(1, len(brokers)))

    placed = place(brokers, partition_count, factor, SeededRng(seed))

    carried = Counter(broker for replicas in placed for broker in replicas)
    counts = [carried[each.id] for each in brokers]
    assert max(counts) - min(counts) <= 2


@given(requests(), SEEDS)
def test_the_same_seed_places_the_same_whatever_the_order_of_the_brokers(
    request: tuple[list[Candidate], int, int], seed: int
) -> None:
    brokers, partition_count, factor = request

    placed = place(brokers, partition_count, factor, SeededRng(seed))

    again = place(list(reversed(brokers)), partition_count, factor, SeededRng(seed))
    assert placed == again


@given(SEEDS)
def test_between_racks_that_have_equally_many_the_one_with_an_unfenced_broker_comes_first(
    seed: int,
) -> None:
    brokers = [
        Candidate(1, "a", is_fenced=False),
        Candidate(2, "b", is_fenced=True),
        Candidate(3, "c", is_fenced=False),
    ]

    placed = place(brokers, 4, 2, SeededRng(seed))

    assert {broker for replicas in placed for broker in replicas} == {1, 3}


def test_the_partitions_that_one_broker_leads_have_their_followers_on_many() -> None:
    placed = place(unfenced(6), 60, 3, SeededRng(7))

    followers = {broker for replicas in placed if replicas[0] == 0 for broker in replicas[1:]}
    assert followers == {1, 2, 3, 4, 5}


def test_small_topics_do_not_all_begin_on_the_same_broker() -> None:
    rng = SeededRng(1)

    leaders = {place(unfenced(3), 1, 1, rng)[0][0] for _ in range(30)}

    assert leaders == {0, 1, 2}


@pytest.mark.parametrize(
    ("brokers", "factor", "message"),
    [
        ([], 1, "All brokers are currently fenced, or have all their log directories cordoned."),
        (
            [Candidate(1, None, is_fenced=True)],
            3,
            "All brokers are currently fenced, or have all their log directories cordoned.",
        ),
        (unfenced(2), 0, "Invalid replication factor 0: the replication factor must be positive."),
        (
            unfenced(2),
            3,
            (
                "The target replication factor of 3 cannot be reached because only 2 broker(s) "
                "are registered or some brokers have all their log directories cordoned."
            ),
        ),
    ],
)
def test_too_few_brokers_are_told_of_in_kafkas_words(
    brokers: list[Candidate], factor: int, message: str
) -> None:
    with pytest.raises(CannotPlace) as raised:
        place(brokers, 1, factor, SeededRng(0))

    assert str(raised.value) == message


def test_fenced_brokers_count_towards_the_replication_factor() -> None:
    brokers = [Candidate(1, None, is_fenced=False), Candidate(2, None, is_fenced=True)]

    assert place(brokers, 1, 2, SeededRng(0)) == [(1, 2)]
