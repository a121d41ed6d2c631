"""The server-side assignors: valid, balanced, and sticky (KIP-848)."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from barnabas_coordinator.group.consumer.assignor import ASSIGNORS
from barnabas_coordinator.group.consumer.assignor_range import assign_range
from barnabas_coordinator.group.consumer.assignor_uniform import assign_uniform
from barnabas_coordinator.group.consumer.assignor_view import (
    Assignment,
    GroupView,
    Subscriber,
)
from barnabas_coordinator.group.consumer.member import NO_PARTITIONS, Partitions

TOPICS = tuple(bytes([number]) * 16 for number in range(1, 6))
Pair = tuple[bytes, int]


def view(
    subscriptions: Mapping[str, frozenset[bytes]],
    counts: Mapping[bytes, int],
    current: Mapping[str, Partitions] | None = None,
) -> GroupView:
    before = current or {}
    subscribers = {
        each: Subscriber(topics, before.get(each, NO_PARTITIONS))
        for each, topics in subscriptions.items()
    }
    used = frozenset[bytes]().union(*subscriptions.values())
    return GroupView(subscribers, {each: counts[each] for each in used})


def pairs(partitions: Partitions) -> set[Pair]:
    return {(topic, number) for topic, numbers in partitions.items() for number in numbers}


def loads(assignment: Assignment) -> dict[str, int]:
    return {each: len(pairs(partitions)) for each, partitions in assignment.items()}


def moved(before: Assignment, after: Assignment) -> int:
    """Partitions that somebody had who is still there, and has no more."""
    return sum(len(pairs(before[each]) - pairs(after[each])) for each in before if each in after)


member_ids = st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


@st.composite
def groups(draw: st.DrawFn, *, equal: bool = False) -> GroupView:
    """Few draws, as each takes its time: sets of topics are bits of a number."""
    ids = draw(member_ids)
    counts = dict(zip(TOPICS, draw(st.tuples(*[st.integers(1, 9)] * len(TOPICS))), strict=True))
    masks = draw(st.lists(st.integers(0, 31), min_size=len(ids), max_size=len(ids)))
    current: dict[str, dict[bytes, frozenset[int]]] = {each: {} for each in ids}
    for owner, topic, bits in draw(
        st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(TOPICS), st.integers(1, 4095)))
    ):
        current[owner][topic] = frozenset(n for n in range(12) if bits >> n & 1)
    subscriptions = {
        each: frozenset(
            topic for n, topic in enumerate(TOPICS) if masks[0 if equal else at] >> n & 1
        )
        for at, each in enumerate(ids)
    }
    return view(subscriptions, counts, current)


def check_valid(given: GroupView, found: Assignment) -> None:
    assert found.keys() == given.subscribers.keys()
    taken = [pair for partitions in found.values() for pair in pairs(partitions)]
    wanted = {
        (topic, number)
        for topic, count in given.partition_counts.items()
        for number in range(count)
    }
    assert len(taken) == len(set(taken)), "a partition was assigned twice"
    assert set(taken) == wanted, "not all of what is subscribed to, or more"
    for member_id, partitions in found.items():
        assert partitions.keys() <= given.subscribers[member_id].topics
        assert all(partitions.values()), "a topic without partitions"


@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_goes_to_one_of_those_who_subscribe_to_it(
    group: GroupView, assignor: str
) -> None:
    check_valid(group, ASSIGNORS[assignor](group))


@given(groups(equal=True))
def test_uniform_loads_differ_by_one_at_most_among_equals(group: GroupView) -> None:
    found = loads(assign_uniform(group)).values()

    assert max(found) - min(found) <= 1


@given(groups())
def test_no_uniform_load_could_be_evened_out_by_moving_one_partition(group: GroupView) -> None:
    found = assign_uniform(group)

    load = loads(found)
    for owner, partitions in found.items():
        for topic in partitions:
            for other, subscriber in group.subscribers.items():
                if topic in subscriber.topics:
                    assert load[owner] - load[other] <= 1, (owner, other)


@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_nothing_moves_when_nothing_has_changed(group: GroupView, assignor: str) -> None:
    found = ASSIGNORS[assignor](group)

    again = view(
        {each: one.topics for each, one in group.subscribers.items()}, group.partition_counts, found
    )

    assert ASSIGNORS[assignor](again) == found


@given(groups(equal=True))
def test_among_equals_uniform_moves_no_more_than_it_must(group: GroupView) -> None:
    """Each member keeps all it had up to its fair share, and as many as can one more."""
    total = sum(group.partition_counts.values())
    quota, extra = divmod(total, len(group.subscribers))
    valid, taken = [], set[Pair]()
    for member_id in sorted(group.subscribers):
        subscriber = group.subscribers[member_id]
        mine = {
            (topic, number)
            for topic, number in pairs(subscriber.current)
            if topic in subscriber.topics and number < group.partition_counts[topic]
        } - taken
        taken |= mine
        valid.append((member_id, mine))
    above = sum(len(mine) > quota for _, mine in valid)
    best = sum(min(len(mine), quota) for _, mine in valid) + min(above, extra)

    found = assign_uniform(group)

    assert sum(len(mine & pairs(found[member_id])) for member_id, mine in valid) == best


def test_uniform_takes_from_everybody_a_little_for_a_newcomer() -> None:
    topics = frozenset(TOPICS[:1])
    counts = {TOPICS[0]: 900}
    ten = assign_uniform(view({f"m{n}": topics for n in range(10)}, counts))

    eleven = assign_uniform(view({f"m{n}": topics for n in range(11)}, counts, ten))

    assert moved(ten, eleven) == 81
    assert len(pairs(eleven["m10"])) == 81


def test_uniform_gives_what_a_member_had_to_the_others_and_moves_nothing_else() -> None:
    topics = frozenset(TOPICS[:2])
    counts = {TOPICS[0]: 450, TOPICS[1]: 450}
    ten = assign_uniform(view({f"m{n}": topics for n in range(10)}, counts))

    nine = assign_uniform(view({f"m{n}": topics for n in range(1, 10)}, counts, ten))

    assert moved(ten, nine) == 0
    assert set(loads(nine).values()) == {100}


@given(groups())
def test_a_range_is_a_run_of_neighbours(group: GroupView) -> None:
    for partitions in assign_range(group).values():
        for numbers in partitions.values():
            assert max(numbers) - min(numbers) == len(numbers) - 1


@given(groups())
def test_ranges_of_a_topic_differ_by_one_at_most(group: GroupView) -> None:
    found = assign_range(group)

    for topic in group.partition_counts:
        sizes = [
            len(found[each].get(topic, ()))
            for each, one in group.subscribers.items()
            if topic in one.topics
        ]
        assert max(sizes) - min(sizes) <= 1


@given(member_ids, st.integers(1, 9))
def test_topics_of_one_size_are_ranged_alike_so_that_they_can_be_joined(
    ids: list[str], count: int
) -> None:
    topics = frozenset(TOPICS)

    found = assign_range(view(dict.fromkeys(ids, topics), dict.fromkeys(TOPICS, count)))

    for partitions in found.values():
        assert len(set(partitions.values())) <= 1


def test_a_static_member_keeps_its_range_under_another_member_id() -> None:
    topics = frozenset(TOPICS[:1])

    def ranges(first_id: str) -> Assignment:
        subscribers = {
            first_id: Subscriber(topics, NO_PARTITIONS, "i1"),
            "m": Subscriber(topics, NO_PARTITIONS, "i2"),
        }
        return assign_range(GroupView(subscribers, {TOPICS[0]: 4}))

    assert ranges("a")["a"] == ranges("z")["z"] == {TOPICS[0]: {0, 1}}
