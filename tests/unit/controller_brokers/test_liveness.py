"""Sessions of brokers."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from barnabas_controller.managers.liveness import BrokerLiveness
from barnabas_core.metadata.image import Provenance
from tests.support.controller_lab import ControllerLab

TIMEOUT_MS = 9_000
INTERVAL_MS = 2_000


def test_a_session_lasts_one_timeout_from_the_last_time_its_broker_was_heard_of() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)
    liveness.heard(1, 10, 1_000, 6)

    assert liveness.next_deadline_ms() == 10_000
    assert liveness.stale(9_999) == []
    assert liveness.has_session(1, 10, 9_999)
    assert liveness.stale(10_000) == [1]
    assert not liveness.has_session(1, 10, 10_000)


def test_stale_brokers_come_the_longest_over_first() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    for broker_id, at_ms in ((3, 20), (1, 30), (5, 10), (2, 20)):
        liveness.heard(broker_id, 1, at_ms, 0)

    assert liveness.stale(100_000) == [5, 2, 3, 1]


def test_a_broken_link_cuts_the_session_to_one_heartbeat_interval() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)

    liveness.on_link_closed(1, 10, 100, INTERVAL_MS)

    assert liveness.next_deadline_ms() == 2_100
    assert liveness.stale(2_100) == [1]


def test_a_broken_link_never_prolongs_a_session() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)

    liveness.on_link_closed(1, 10, TIMEOUT_MS - 1, INTERVAL_MS)

    assert liveness.next_deadline_ms() == TIMEOUT_MS


def test_a_broker_that_is_back_on_another_link_has_its_full_session_again() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)
    liveness.on_link_closed(1, 10, 100, INTERVAL_MS)

    liveness.heard(1, 10, 200, 5)

    assert liveness.stale(200 + TIMEOUT_MS - 1) == []


def test_so_has_one_that_registers_again() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.registered(1, 10, 0, 10)
    liveness.on_link_closed(1, 10, 100, INTERVAL_MS)

    liveness.registered(1, 10, 200, 10)

    assert liveness.next_deadline_ms() == 200 + TIMEOUT_MS


def test_a_session_is_of_one_epoch() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)

    assert liveness.has_session(1, 10, 0)
    assert not liveness.has_session(1, 11, 0)
    assert not liveness.has_session(2, 10, 0)


def test_the_link_of_an_earlier_incarnation_cuts_nothing() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 11, 0, 5)

    liveness.on_link_closed(1, 10, 0, INTERVAL_MS)

    assert liveness.next_deadline_ms() == TIMEOUT_MS


def test_an_earlier_incarnation_prolongs_nothing() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 11, 0, 5)

    liveness.heard(1, 10, 5_000, 99)

    assert liveness.next_deadline_ms() == TIMEOUT_MS
    assert liveness.sessions[1].metadata_offset == 5


def test_nobody_is_waited_for_when_there_is_no_session() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 5)

    liveness.forget(1)
    liveness.forget(1)

    assert liveness.next_deadline_ms() is None
    assert liveness.stale(10**9) == []


def test_after_a_failover_every_unfenced_broker_has_a_full_session() -> None:
    lab = ControllerLab()
    lab.register_broker(1)
    lab.register_broker(2, unfenced=False)
    lab.register_broker(3)
    liveness = BrokerLiveness(TIMEOUT_MS)

    liveness.restart(lab.image, 50_000)

    assert liveness.stale(50_000 + TIMEOUT_MS - 1) == []
    assert liveness.stale(50_000 + TIMEOUT_MS) == [1, 3]


def test_a_feed_has_shown_a_registration_only_when_it_has_its_last_record() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.registered(1, 10, 0, 14)

    assert liveness.registration_offset(1, 10) == 14
    assert liveness.registration_offset(1, 9) == 9
    assert liveness.registration_offset(2, 7) == 7


def test_a_broker_may_go_when_the_feeds_of_all_active_brokers_have_passed_its_shutdown() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 19)
    liveness.heard(2, 11, 0, 20)
    liveness.heard(3, 12, 0, 19)
    liveness.began_shutdown(1, 20)

    assert not liveness.may_shut_down(1, [2, 3])
    liveness.heard(3, 12, 0, 20)
    assert liveness.may_shut_down(1, [2, 3])


def test_an_active_broker_that_was_not_heard_of_yet_holds_up_a_shutdown() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 20)
    liveness.began_shutdown(1, 20)

    assert not liveness.may_shut_down(1, [2])
    assert liveness.may_shut_down(1, [])


def test_a_shutdown_does_not_begin_again() -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    liveness.heard(1, 10, 0, 20)

    liveness.began_shutdown(1, 20)
    liveness.began_shutdown(1, 30)

    assert liveness.sessions[1].shutdown_offset == 20


def test_after_a_failover_a_shutdown_waits_for_all_that_the_new_controller_has_seen() -> None:
    lab = ControllerLab()
    lab.register_broker(1)
    lab.register_broker(2)
    lab.change_broker(1, in_controlled_shutdown=True)
    image = replace(lab.image, provenance=Provenance(40, 3, 0))
    liveness = BrokerLiveness(TIMEOUT_MS)

    liveness.restart(image, 0)

    liveness.heard(2, image.cluster.brokers[2].epoch, 0, 39)
    assert not liveness.may_shut_down(1, [2])
    liveness.heard(2, image.cluster.brokers[2].epoch, 0, 40)
    assert liveness.may_shut_down(1, [2])


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["heard", "heard", "closed", "registered", "forget"]),
        st.integers(1, 3),
        st.integers(0, 2),
        st.integers(0, 6_000),
    ),
    max_size=40,
)


@given(events=EVENTS)
def test_a_broker_heard_of_within_its_session_is_never_stale(
    events: list[tuple[str, int, int, int]],
) -> None:
    liveness = BrokerLiveness(TIMEOUT_MS)
    heard: dict[int, tuple[int, int]] = {}
    closed: dict[int, int] = {}
    now_ms = 0

    for event, broker_id, epoch, elapsed_ms in events:
        now_ms += elapsed_ms
        known_epoch = heard.get(broker_id, (0, -1))[1]
        if event == "registered" or (event == "heard" and epoch >= known_epoch):
            heard[broker_id] = (now_ms, epoch)
            closed.pop(broker_id, None)
        elif event == "closed" and epoch == known_epoch:
            closed[broker_id] = now_ms
        elif event == "forget":
            heard.pop(broker_id, None)
            closed.pop(broker_id, None)
        _do(liveness, event, broker_id, epoch, now_ms)
        for stale_id in liveness.stale(now_ms):
            silence_ms = now_ms - heard[stale_id][0]
            cut_ms = now_ms - closed.get(stale_id, now_ms)
            assert silence_ms >= TIMEOUT_MS or cut_ms >= INTERVAL_MS
        deadline_ms = liveness.next_deadline_ms()
        assert bool(liveness.stale(now_ms)) == (deadline_ms is not None and deadline_ms <= now_ms)


def _do(liveness: BrokerLiveness, event: str, broker_id: int, epoch: int, now_ms: int) -> None:
    match event:
        case "heard":
            liveness.heard(broker_id, epoch, now_ms, 0)
        case "closed":
            liveness.on_link_closed(broker_id, epoch, now_ms, INTERVAL_MS)
        case "registered":
            liveness.registered(broker_id, epoch, now_ms, 0)
        case _:
            liveness.forget(broker_id)
