"""Sessions of coordinators, and the list of those that live."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_controller.managers.coordinators import CoordinatorLiveness
from barnabas_core.links.coordinator_message import ApiRange, Heartbeat, Registration, Standing
from barnabas_core.ports.link import Address, Identity

TIMEOUT_MS = 9_000
INTERVAL_MS = 2_000
EPOCH = 4
APIS = (ApiRange(8, 0, 9),)
BEAT = Heartbeat(0)
DRAIN = Heartbeat(3, is_draining=True)


def identity(node_id: int = 1, incarnation: int = 1, role: str = "group") -> Identity:
    return Identity("cluster", node_id, role, bytes([incarnation]) * 16)


def at(port: int) -> Registration:
    return Registration(Address("host", port), None, ())


ONE, TWO = identity(1), identity(2)


def liveness_of(*identities: Identity, at_ms: int = 0) -> CoordinatorLiveness:
    liveness = CoordinatorLiveness(EPOCH, TIMEOUT_MS, 0)
    for one in identities:
        verdict = liveness.register(one, at(one.node_id), BEAT, at_ms)
        assert verdict.standing is Standing.LIVE
    return liveness


def names(liveness: CoordinatorLiveness) -> list[tuple[str, int]]:
    return [(one.role, one.node_id) for one in liveness.live().coordinators]


def test_who_registers_is_in_the_list_with_all_that_was_said() -> None:
    liveness = CoordinatorLiveness(EPOCH, TIMEOUT_MS, 0)

    liveness.register(ONE, Registration(Address("h", 7), "r1", APIS), DRAIN, 0)

    (one,) = liveness.live().coordinators
    assert (one.role, one.node_id, one.incarnation_id) == ("group", 1, ONE.incarnation_id)
    assert (one.address, one.rack, one.apis) == (Address("h", 7), "r1", APIS)
    assert one.is_draining
    assert liveness.live().controller_epoch == EPOCH


def test_a_session_lasts_one_timeout_from_the_last_heartbeat() -> None:
    liveness = liveness_of(ONE)
    liveness.heard(ONE, BEAT, 1_000)

    liveness.expire(9_999)
    assert names(liveness) == [("group", 1)]
    liveness.expire(10_000)
    assert names(liveness) == []


def test_whoever_is_not_known_is_told_to_register() -> None:
    liveness = liveness_of(ONE)

    assert liveness.heard(TWO, BEAT, 0).standing is Standing.UNKNOWN
    assert liveness.heard(ONE, BEAT, TIMEOUT_MS).standing is Standing.UNKNOWN
    assert names(liveness) == []


def test_another_process_of_the_same_name_waits_until_the_first_is_gone() -> None:
    liveness = liveness_of(ONE)
    again = identity(1, incarnation=2)

    assert liveness.register(again, at(9), BEAT, 8_999).standing is Standing.DUPLICATE
    assert liveness.heard(again, BEAT, 8_999).standing is Standing.DUPLICATE
    assert liveness.live().coordinators[0].incarnation_id == ONE.incarnation_id
    assert liveness.register(again, at(9), BEAT, 9_000).standing is Standing.LIVE
    assert liveness.heard(ONE, BEAT, 9_000).standing is Standing.DUPLICATE
    assert liveness.live().coordinators[0].incarnation_id == again.incarnation_id


def test_the_same_node_id_in_another_role_is_somebody_else() -> None:
    liveness = liveness_of(ONE, identity(1, incarnation=7, role="share"))

    assert names(liveness) == [("group", 1), ("share", 1)]


def test_a_broken_link_cuts_the_session_to_one_heartbeat_interval() -> None:
    liveness = liveness_of(ONE)

    liveness.on_link_closed(ONE, 100, INTERVAL_MS)

    assert liveness.next_deadline_ms() == 2_100
    liveness.expire(2_099)
    assert names(liveness) == [("group", 1)]
    liveness.expire(2_100)
    assert names(liveness) == []


def test_one_that_is_heard_of_on_another_link_has_its_full_session_again() -> None:
    liveness = liveness_of(ONE)
    liveness.on_link_closed(ONE, 100, INTERVAL_MS)

    liveness.heard(ONE, BEAT, 200)

    liveness.expire(9_199)
    assert names(liveness) == [("group", 1)]


def test_the_link_of_an_earlier_incarnation_cuts_nothing() -> None:
    liveness = liveness_of(ONE)

    liveness.on_link_closed(identity(1, incarnation=2), 100, INTERVAL_MS)

    assert liveness.sessions[("group", 1)].cut_at_ms is None


def test_one_that_drains_is_gone_with_its_link() -> None:
    liveness = liveness_of(ONE, TWO)
    liveness.heard(ONE, DRAIN, 100)

    liveness.on_link_closed(ONE, 200, INTERVAL_MS)

    assert names(liveness) == [("group", 2)]


def test_the_list_is_partial_for_one_session_timeout() -> None:
    liveness = liveness_of(ONE, at_ms=8_000)
    version = liveness.live().version

    liveness.expire(8_999)
    assert liveness.live().is_partial
    assert liveness.next_deadline_ms() == 9_000
    liveness.expire(9_000)

    assert not liveness.live().is_partial
    assert liveness.live().version > version
    assert liveness.next_deadline_ms() == 17_000


def test_only_what_brokers_should_hear_of_makes_a_new_version() -> None:
    liveness = liveness_of(ONE)
    before = liveness.stamp

    liveness.heard(ONE, Heartbeat(5), 100)
    liveness.register(ONE, at(1), Heartbeat(6), 200)
    assert liveness.stamp == before

    liveness.heard(ONE, DRAIN, 300)
    drained = liveness.stamp
    liveness.register(ONE, at(99), DRAIN, 400)

    assert before < drained < liveness.stamp
    assert liveness.live().coordinators[0].address == Address("host", 99)


def test_it_is_alone_if_nobody_else_of_its_role_stays() -> None:
    liveness = liveness_of(ONE, TWO, identity(3, role="share"), at_ms=5_000)
    now_ms = TIMEOUT_MS

    assert not liveness.heard(ONE, DRAIN, now_ms).is_alone
    assert liveness.heard(TWO, BEAT, now_ms).is_alone
    liveness.heard(TWO, DRAIN, now_ms)
    assert liveness.heard(ONE, DRAIN, now_ms).is_alone


def test_nobody_is_called_alone_while_the_list_is_partial() -> None:
    liveness = liveness_of(ONE)

    assert not liveness.heard(ONE, DRAIN, TIMEOUT_MS - 1).is_alone
    assert liveness.heard(ONE, DRAIN, TIMEOUT_MS).is_alone


acts = st.lists(
    st.tuples(
        st.sampled_from(["register", "beat", "drain", "close", "wait"]),
        st.integers(1, 3),
        st.integers(1, 2),
        st.integers(0, 4_000),
    ),
    max_size=40,
)


@given(acts=acts)
def test_every_change_of_the_list_has_a_stamp_of_its_own(
    acts: list[tuple[str, int, int, int]],
) -> None:
    liveness = CoordinatorLiveness(EPOCH, TIMEOUT_MS, 0)
    seen = {liveness.stamp: liveness.live()}
    now_ms = 0
    for act, node_id, incarnation, wait_ms in acts:
        now_ms += wait_ms
        who = identity(node_id, incarnation)
        if act == "register":
            liveness.register(who, at(incarnation), BEAT, now_ms)
        elif act == "close":
            liveness.on_link_closed(who, now_ms, INTERVAL_MS)
        elif act == "wait":
            liveness.expire(now_ms)
        else:
            liveness.heard(who, DRAIN if act == "drain" else BEAT, now_ms)

        assert seen.setdefault(liveness.stamp, liveness.live()) == liveness.live()
        assert max(seen) == liveness.stamp
