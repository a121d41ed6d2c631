"""BrokerHeartbeat: which state a broker asks for, and which it gets."""

from barnabas_controller.managers.brokers.fencing import decide_fence_stale_brokers
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.broker_life import heartbeat, register, start
from tests.support.controller_lab import ControllerLab, directory_id


def _three() -> ControllerLab:
    lab = ControllerLab()
    for broker_id in (1, 2, 3):
        start(lab, broker_id)
    return lab


def test_a_stale_epoch_is_told_so_and_keeps_no_session() -> None:
    lab = _three()
    epoch = lab.image.cluster.brokers[1].epoch
    lab.clock.advance(5_000)

    answer = heartbeat(lab, 1, epoch=epoch - 1)

    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert lab.liveness.sessions[1].heard_at_ms == lab.clock.monotonic_ms() - 5_000
    assert heartbeat(lab, 9, epoch=0).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert 9 not in lab.liveness.sessions


def test_a_heartbeat_keeps_the_session_and_tells_how_far_the_feed_is() -> None:
    lab = _three()
    lab.clock.advance(5_000)

    heartbeat(lab, 1, offset=4)

    session = lab.liveness.sessions[1]
    assert (session.heard_at_ms, session.metadata_offset) == (lab.clock.monotonic_ms(), 4)


def test_a_broker_stays_fenced_until_its_feed_has_its_registration() -> None:
    lab = ControllerLab()
    epoch = register(lab, 1).broker_epoch

    answer = heartbeat(lab, 1, offset=epoch - 1)
    assert (answer.is_caught_up, answer.is_fenced) == (False, True)
    assert lab.records == []

    answer = heartbeat(lab, 1, offset=epoch)
    assert (answer.is_caught_up, answer.is_fenced) == (True, False)
    assert not lab.image.cluster.brokers[1].is_fenced


def test_a_broker_that_wants_to_stay_fenced_does() -> None:
    lab = ControllerLab()
    register(lab, 1)

    answer = heartbeat(lab, 1, want_fence=True)

    assert (answer.is_caught_up, answer.is_fenced, answer.should_shut_down) == (True, True, False)
    assert lab.records == []


def test_what_had_no_leader_is_led_by_the_broker_that_comes_back() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1]})
    heartbeat(lab, 1, want_fence=True)
    assert lab.partition("t").leader == -1

    heartbeat(lab, 1)

    assert lab.partition("t").leader == 1
    first = lab.records[0]
    assert isinstance(first, BrokerRegistrationChangeRecord)
    assert first.fenced == -1


def test_a_broker_is_fenced_on_its_own_wish() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2, 3]})

    answer = heartbeat(lab, 1, want_fence=True)

    assert (answer.is_fenced, answer.should_shut_down) == (True, False)
    assert lab.image.cluster.brokers[1].is_fenced
    assert (lab.partition("t").leader, lab.partition("t").isr) == (2, (2, 3))
    assert isinstance(lab.records[-1], BrokerRegistrationChangeRecord)


def test_a_broker_that_leads_nothing_may_go_at_once() -> None:
    lab = _three()
    lab.create_topic("t", {0: [2, 1]})

    answer = heartbeat(lab, 1, want_shut_down=True)

    assert (answer.is_fenced, answer.should_shut_down) == (True, True)
    assert lab.image.cluster.brokers[1].is_fenced
    assert lab.partition("t").isr == (2,)
    assert 1 not in lab.liveness.sessions


def test_a_fenced_broker_may_go_at_once() -> None:
    lab = ControllerLab()
    register(lab, 1)

    answer = heartbeat(lab, 1, want_shut_down=True)

    assert (answer.is_fenced, answer.should_shut_down) == (True, True)
    assert lab.records == []


def test_a_leader_that_wants_both_fence_and_shutdown_goes_at_once() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2]})

    answer = heartbeat(lab, 1, want_fence=True, want_shut_down=True)

    assert answer.should_shut_down
    assert lab.partition("t").leader == 2


def test_a_leader_goes_when_everybody_active_has_seen_that_it_leads_no_more() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2, 3]})

    answer = heartbeat(lab, 1, want_shut_down=True)

    broker = lab.image.cluster.brokers[1]
    assert (answer.is_fenced, answer.should_shut_down) == (False, False)
    assert (broker.in_controlled_shutdown, broker.is_fenced) == (True, False)
    assert (lab.partition("t").leader, lab.partition("t").isr) == (2, (2, 3))
    moved_at = lab.next_offset - 1

    heartbeat(lab, 2, offset=moved_at)
    heartbeat(lab, 3, offset=moved_at - 1)
    assert not heartbeat(lab, 1, want_shut_down=True).should_shut_down
    heartbeat(lab, 3, offset=moved_at)
    assert heartbeat(lab, 1, want_shut_down=True).should_shut_down
    assert lab.image.cluster.brokers[1].is_fenced


def test_a_fenced_broker_holds_up_no_shutdown() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2]})
    heartbeat(lab, 1, want_shut_down=True)
    heartbeat(lab, 2)
    assert not heartbeat(lab, 1, want_shut_down=True).should_shut_down

    heartbeat(lab, 3, want_fence=True, offset=0)

    assert heartbeat(lab, 1, want_shut_down=True).should_shut_down


def test_two_that_shut_down_do_not_wait_for_each_other() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 3], 1: [2, 3]})
    heartbeat(lab, 1, want_shut_down=True)
    heartbeat(lab, 2, want_shut_down=True)
    heartbeat(lab, 3)

    assert heartbeat(lab, 1, want_shut_down=True, offset=0).should_shut_down
    assert heartbeat(lab, 2, want_shut_down=True, offset=0).should_shut_down


def test_a_broker_that_still_leads_something_stays() -> None:
    lab = _three()
    lab.set_config(4, "", "min.insync.replicas", "1")
    lab.create_topic("t", {0: [1, 2]})
    heartbeat(lab, 1, want_shut_down=True)
    heartbeat(lab, 2)
    heartbeat(lab, 3)
    change = PartitionChangeRecord(partition_id=0, topic_id=lab.topic_id("t"), isr=[1, 2], leader=1)
    lab.apply([change])

    answer = heartbeat(lab, 1, want_shut_down=True)

    assert not answer.should_shut_down


def test_a_broker_in_shutdown_that_falls_silent_is_fenced() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2]})
    heartbeat(lab, 1, want_shut_down=True)
    lab.clock.advance(8_000)
    heartbeat(lab, 2)
    heartbeat(lab, 3)
    lab.clock.advance(1_000)

    assert lab.run(decide_fence_stale_brokers) == 1

    assert lab.image.cluster.brokers[1].is_fenced


def test_a_lost_directory_costs_what_lies_in_it() -> None:
    lab = ControllerLab()
    start(lab, 1, log_dirs=[directory_id(1, 0), directory_id(1, 1)])
    start(lab, 2)
    topic_id = lab.create_topic("t", {0: [1, 2], 1: [1, 2]})
    for number in (0, 1):
        lab.apply(
            [
                PartitionChangeRecord(
                    partition_id=number,
                    topic_id=topic_id,
                    directories=[directory_id(1, number), directory_id(2)],
                )
            ]
        )

    heartbeat(lab, 1, offline=[directory_id(1, 1)])

    assert lab.image.cluster.brokers[1].log_dirs == (directory_id(1, 0),)
    assert (lab.partition("t", 0).leader, lab.partition("t", 0).isr) == (1, (1, 2))
    assert (lab.partition("t", 1).leader, lab.partition("t", 1).isr) == (2, (2,))

    heartbeat(lab, 1, offline=[directory_id(1, 1)])
    assert lab.records == []


def test_the_last_directory_takes_the_partitions_but_stays_on_record() -> None:
    lab = _three()
    lab.create_topic("t", {0: [1, 2]})

    heartbeat(lab, 1, offline=[directory_id(1)])

    assert lab.partition("t").leader == 2
    assert lab.image.cluster.brokers[1].log_dirs == (directory_id(1),)


def test_a_broker_that_comes_back_without_a_directory_does_not_lead_from_it() -> None:
    lab = ControllerLab()
    start(lab, 1, log_dirs=[directory_id(1, 0), directory_id(1, 1)])
    start(lab, 2)
    topic_id = lab.create_topic("t", {0: [1]})
    lab.apply(
        [PartitionChangeRecord(partition_id=0, topic_id=topic_id, directories=[directory_id(1, 1)])]
    )
    heartbeat(lab, 1, want_fence=True)

    answer = heartbeat(lab, 1, offline=[directory_id(1, 1)])

    assert not answer.is_fenced
    assert lab.partition("t").leader == -1


def test_directories_of_others_cost_nothing() -> None:
    lab = _three()

    heartbeat(lab, 1, offline=[directory_id(2)])

    assert lab.records == []


def _cordoned(lab: ControllerLab) -> list[bytes]:
    return list(lab.image.cluster.brokers[1].cordoned_log_dirs)


def test_cordoned_directories_are_as_the_last_heartbeat_says() -> None:
    lab = ControllerLab()
    both = [directory_id(1, 0), directory_id(1, 1)]
    start(lab, 1, log_dirs=both)

    heartbeat(lab, 1, cordoned=both[::-1])
    assert _cordoned(lab) == both
    heartbeat(lab, 1, cordoned=both[::-1])
    assert lab.records == []
    heartbeat(lab, 1)
    assert lab.records == []
    heartbeat(lab, 1, cordoned=[])
    assert _cordoned(lab) == []


def test_cordoned_directories_are_not_kept_before_4_3() -> None:
    lab = ControllerLab(metadata_level=29)
    start(lab, 1)

    heartbeat(lab, 1, cordoned=[directory_id(1)])

    assert lab.records == []


def test_an_old_broker_reports_no_directories() -> None:
    lab = _three()

    answer = heartbeat(lab, 1, version=0)

    assert answer.error_code == ErrorCode.NONE
    assert lab.records == []
