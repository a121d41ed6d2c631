"""Which coordinator a shard goes to, and when it is taken elsewhere."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from barnabas_broker.shards.placement import (
    Candidate,
    Move,
    PlacedShard,
    PlacementTimes,
    Reach,
    Scene,
    plan_moves,
    weight,
)
from barnabas_core.ports.link import Address

TIMES = PlacementTimes(quiet_ms=10_000, balance_interval_ms=2_000, patience_ms=3_000)
LONG_MS = 100_000


def at(number: int) -> Address:
    return Address("c", number)


def candidates(*numbers: int, rack: str | None = None) -> list[Candidate]:
    return [Candidate(number, at(number), rack) for number in numbers]


def closed(count: int) -> list[PlacedShard]:
    return [PlacedShard(index, f"__consumer_offsets-{index}") for index in range(count)]


def opened(*places: int) -> list[PlacedShard]:
    """One shard for each, open there."""
    return [
        PlacedShard(index, f"__consumer_offsets-{index}", at(number), is_open=True)
        for index, number in enumerate(places)
    ]


def scene_of(shards: Iterable[PlacedShard], live: Iterable[Candidate]) -> Scene:
    """Everything has been quiet for long, and all is known."""
    return Scene(
        shards=list(shards),
        candidates=list(live),
        rack=None,
        is_full=True,
        unchanged_ms=LONG_MS,
        since_balance_ms=LONG_MS,
        room=1_000,
    )


def carried_out(scene: Scene, moves: Iterable[Move]) -> Scene:
    shards = {shard.number: shard for shard in scene.shards}
    for index, to in moves:
        shards[index] = shards[index]._replace(at=to, is_open=True)
    return replace(scene, shards=[shards[index] for index in sorted(shards)])


def counts(scene: Scene) -> Counter[Address | None]:
    return Counter(shard.at for shard in scene.shards)


def test_shards_are_shared_evenly() -> None:
    scene = scene_of(closed(50), candidates(1, 2, 3))

    after = carried_out(scene, plan_moves(scene, TIMES))

    assert sorted(counts(after).values()) == [16, 17, 17]


def test_without_a_coordinator_nothing_is_opened() -> None:
    assert plan_moves(scene_of(closed(5), []), TIMES) == []


def test_a_shard_goes_to_the_rack_of_its_broker_if_there_is_anybody() -> None:
    live = [*candidates(1, 2, rack="far"), *candidates(3, rack="near")]
    scene = replace(scene_of(closed(6), live), rack="near")

    assert {move.to for move in plan_moves(scene, TIMES)} == {at(3)}
    away = replace(scene, candidates=[*live[:2], live[2]._replace(reach=Reach.AWAY)])
    assert {move.to for move in plan_moves(away, TIMES)} == {at(1), at(2)}


def test_no_more_sessions_begin_than_there_is_room_for() -> None:
    scene = replace(scene_of(closed(20), candidates(1, 2)), room=8)

    assert len(plan_moves(scene, TIMES)) == 8
    assert plan_moves(replace(scene, room=0), TIMES) == []


def test_one_that_is_away_gets_nothing_and_one_that_comes_is_waited_for() -> None:
    one, two = candidates(1, 2)
    away = scene_of(closed(10), [one, two._replace(reach=Reach.AWAY)])
    coming = scene_of(closed(10), [one, two._replace(reach=Reach.CONNECTING)])

    assert len(plan_moves(away, TIMES)) == 10
    moves = plan_moves(coming, TIMES)

    assert {move.to for move in moves} == {at(1)}
    assert len(moves) == 5


def test_a_shard_is_not_opened_where_it_failed_not_long_ago() -> None:
    scene = replace(scene_of(closed(1), candidates(1, 2)), avoided={0: [at(1)]})

    assert plan_moves(scene, TIMES) == [Move(0, at(2))]
    assert plan_moves(replace(scene, avoided={0: [at(1), at(2)]}), TIMES) == []


def test_one_that_goes_takes_only_its_own_shards_along() -> None:
    scene = scene_of(closed(60), candidates(1, 2, 3))
    before = carried_out(scene, plan_moves(scene, TIMES))
    lost = [one if one.at != at(3) else one._replace(at=None, is_open=False)
            for one in before.shards]  # fmt: skip

    moves = plan_moves(scene_of(lost, candidates(1, 2)), TIMES)

    assert {move.number for move in moves} == {
        one.number for one in before.shards if one.at == at(3)
    }
    assert Counter(move.to for move in moves) == {at(1): 10, at(2): 10}


def test_hashing_decides_not_the_order_of_the_list() -> None:
    scene = scene_of(closed(3), candidates(1, 2, 3))

    assert plan_moves(scene, TIMES) == plan_moves(
        replace(scene, candidates=candidates(3, 1, 2)), TIMES
    )


def test_weights_do_not_favour_anybody() -> None:
    live = candidates(*range(100, 105))
    best: Counter[int] = Counter()
    for shard in closed(2_000):
        best[max((weight(shard.name, one), one.node_id) for one in live)[1]] += 1

    assert all(300 < count < 500 for count in best.values()), best


# --- a healthy session stays


def test_a_session_stays_though_its_coordinator_is_in_no_list() -> None:
    scene = scene_of(opened(9, 9, 9, 9), candidates(1, 2))

    assert plan_moves(scene, TIMES) == []


def test_shares_that_differ_by_one_stay() -> None:
    assert plan_moves(scene_of(opened(1, 1, 1, 2, 2), candidates(1, 2)), TIMES) == []


def test_one_shard_at_a_time_is_moved_to_whoever_has_less() -> None:
    scene = scene_of(opened(1, 1, 1, 1), candidates(1, 2))

    (move,) = plan_moves(scene, TIMES)

    assert move.to == at(2)
    names = {one.number: one.name for one in scene.shards}
    best = max(names, key=lambda index: weight(names[index], scene.candidates[1]))
    assert move.number == best


def test_nothing_is_moved_for_balance_before_all_is_known_and_quiet() -> None:
    scene = scene_of(opened(1, 1, 1, 1), candidates(1, 2))
    loading = [*scene.shards[:3], scene.shards[3]._replace(is_open=False)]

    assert plan_moves(replace(scene, is_full=False), TIMES) == []
    assert plan_moves(replace(scene, unchanged_ms=9_999), TIMES) == []
    assert plan_moves(replace(scene, since_balance_ms=1_999), TIMES) == []
    assert plan_moves(replace(scene, shards=loading), TIMES) == []
    assert plan_moves(replace(scene, room=0), TIMES) == []
    assert len(plan_moves(scene, TIMES)) == 1


def test_a_shard_at_which_somebody_waits_is_left_alone_for_a_while() -> None:
    busy = [one._replace(is_busy=True) for one in opened(1, 1, 1)]
    one_quiet = [*busy[:2], busy[2]._replace(is_busy=False)]
    scene = replace(scene_of(busy, candidates(1, 2)), since_balance_ms=4_999)

    assert plan_moves(scene, TIMES) == []
    assert plan_moves(replace(scene, shards=one_quiet), TIMES) == [Move(2, at(2))]
    assert len(plan_moves(replace(scene, since_balance_ms=5_000), TIMES)) == 1


def test_nothing_is_moved_for_balance_to_where_it_failed_or_nobody_is_yet() -> None:
    one, two = candidates(1, 2)
    scene = scene_of(opened(1, 1), [one, two])
    coming = replace(scene, candidates=[one, two._replace(reach=Reach.CONNECTING)])

    for number in range(3):
        avoided = {other: [at(2)] for other in range(3) if other != number}
        failed = replace(scene, shards=opened(1, 1, 1), avoided=avoided)
        assert plan_moves(failed, TIMES) == [Move(number, at(2))]
    assert len(plan_moves(scene, TIMES)) == 1
    assert plan_moves(coming, TIMES) == []


def test_a_shard_in_another_rack_comes_home() -> None:
    live = [*candidates(1, rack="far"), *candidates(2, rack="near")]
    scene = replace(scene_of(opened(1, 1), live), rack="near")

    (move,) = plan_moves(scene, TIMES)

    assert move.to == at(2)


# --- draining


def draining(*numbers: int) -> list[Candidate]:
    return [one._replace(is_draining=True) for one in candidates(*numbers)]


def test_whoever_drains_loses_all_shards_at_once() -> None:
    live = [*draining(1), *candidates(2, 3)]
    scene = replace(scene_of(opened(1, 1, 1, 2, 3), live), unchanged_ms=0, is_full=False)

    moves = plan_moves(scene, TIMES)

    assert [move.number for move in moves] == [0, 1, 2]
    assert sorted(counts(carried_out(scene, moves)).values()) == [2, 3]


def test_a_drained_coordinator_gets_nothing() -> None:
    scene = scene_of(closed(10), [*draining(1), *candidates(2)])

    assert {move.to for move in plan_moves(scene, TIMES)} == {at(2)}
    assert plan_moves(scene_of(closed(10), draining(1, 2)), TIMES) == []


def test_a_drain_without_anybody_else_leaves_sessions_where_they_are() -> None:
    assert plan_moves(scene_of(opened(1, 1), draining(1)), TIMES) == []


def test_a_drain_waits_a_moment_for_those_who_wait_for_answers() -> None:
    shards = opened(1, 1)
    shards[0] = shards[0]._replace(is_busy=True)
    scene = replace(scene_of(shards, [*draining(1), *candidates(2)]), unchanged_ms=2_999)

    assert plan_moves(scene, TIMES) == [Move(1, at(2))]
    late = replace(scene, unchanged_ms=3_000)
    assert [move.number for move in plan_moves(late, TIMES)] == [0, 1]


# --- whatever the scene

racks = st.sampled_from([None, "a", "b"])
live_lists = st.lists(
    st.builds(
        Candidate,
        st.integers(1, 6),
        st.just(at(0)),
        racks,
        st.booleans(),
        st.sampled_from(Reach),
    ).map(lambda one: one._replace(address=at(one.node_id))),
    max_size=6,
    unique_by=lambda one: one.node_id,
)
places = st.none() | st.integers(1, 8).map(at)
shard_lists = st.lists(st.tuples(places, st.booleans(), st.booleans()), max_size=12).map(
    lambda drawn: [
        PlacedShard(index, f"s-{index}", place, is_open and place is not None, is_busy)
        for index, (place, is_open, is_busy) in enumerate(drawn)
    ]
)
scenes = st.builds(
    Scene,
    shard_lists,
    live_lists,
    racks,
    st.booleans(),
    st.integers(0, 20_000),
    st.integers(0, 20_000),
    st.integers(0, 12),
)


@given(scene=scenes)
def test_whoever_drains_or_cannot_be_reached_gets_nothing(scene: Scene) -> None:
    able = {
        one.address
        for one in scene.candidates
        if one.reach is Reach.CONNECTED and not one.is_draining
    }

    assert {move.to for move in plan_moves(scene, TIMES)} <= able


@given(scene=scenes)
def test_no_more_than_one_healthy_session_is_moved_and_only_in_quiet(scene: Scene) -> None:
    leaving = {one.address for one in scene.candidates if one.is_draining}
    shards = {one.number: one for one in scene.shards}

    moves = plan_moves(scene, TIMES)

    assert len(moves) <= scene.room
    assert all(shards[move.number].at != move.to for move in moves)
    healthy = [move for move in moves if (place := shards[move.number].at) and place not in leaving]
    assert len(healthy) <= 1
    if healthy:
        assert moves == healthy
        assert scene.is_full
        assert scene.unchanged_ms >= TIMES.quiet_ms
        assert scene.since_balance_ms >= TIMES.balance_interval_ms


@given(
    places=st.lists(st.integers(1, 4), min_size=1, max_size=30),
    live=st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True),
)
def test_balance_is_reached_with_as_few_moves_as_can_be(places: list[int], live: list[int]) -> None:
    scene = scene_of(
        opened(*[one if one in live else live[0] for one in places]), candidates(*live)
    )
    share, extra = divmod(len(places), len(live))
    before = sorted((counts(scene)[at(number)] for number in live), reverse=True)
    wanted = [share + (rank < extra) for rank in range(len(live))]
    least_count = sum(max(has - due, 0) for has, due in zip(before, wanted, strict=True))

    move_count = 0
    while moves := plan_moves(scene, TIMES):
        move_count += len(moves)
        scene = carried_out(scene, moves)
        assert move_count <= len(places), "it never ends"

    after = [counts(scene)[at(number)] for number in live]
    assert max(after) - min(after) <= 1
    assert move_count == least_count
