"""BrokerRegistration."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from barnabas_controller.managers.brokers.registration import decide_broker_registration
from barnabas_controller.managers.view import Context, QuorumFacts
from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
)
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.metadata.partition_image import LOST_DIRECTORY
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_registration_request import Feature, Listener
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from tests.support.broker_life import heartbeat, register, registration_request, start
from tests.support.controller_lab import ControllerLab, directory_id, incarnation_id


def test_a_new_broker_is_registered_as_it_says_and_fenced() -> None:
    lab = ControllerLab()

    answer = register(
        lab,
        7,
        rack="b",
        listeners=[Listener("SSL", "b7.example", 9093, 1)],
        log_dirs=[directory_id(7, 1), directory_id(7, 0)],
    )

    broker = lab.image.cluster.brokers[7]
    assert answer.error_code == ErrorCode.NONE
    assert (broker.is_fenced, broker.in_controlled_shutdown, broker.rack) == (True, False, "b")
    assert broker.listeners == (("SSL", "b7.example", 9093, 1),)
    assert broker.log_dirs == (directory_id(7, 0), directory_id(7, 1))
    assert broker.incarnation_id == incarnation_id(7)
    assert (METADATA_VERSION, 7, 30) in broker.features


def test_the_epoch_is_the_offset_of_the_registration() -> None:
    lab = ControllerLab()
    at = lab.next_offset

    answer = register(lab, 1)

    assert answer.broker_epoch == at
    assert lab.image.cluster.brokers[1].epoch == at
    assert isinstance(lab.records[0], RegisterBrokerRecord)


def test_another_cluster_id_is_refused() -> None:
    lab = ControllerLab()

    answer = register(lab, 1, cluster_id="bm90LXRoaXMtY2x1c3Rlcg")

    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert answer.broker_epoch == -1
    assert lab.records == []


def test_an_id_that_another_live_process_has_is_refused() -> None:
    lab = ControllerLab()
    start(lab, 1)
    lab.clock.advance(8_999)

    assert register(lab, 1, incarnation=1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION

    assert lab.image.cluster.brokers[1].incarnation_id == incarnation_id(1)


def test_a_broker_that_starts_up_is_not_pushed_aside_either() -> None:
    lab = ControllerLab()
    register(lab, 1)

    assert register(lab, 1, incarnation=1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_an_id_is_free_again_when_its_session_is_over() -> None:
    lab = ControllerLab()
    first = start(lab, 1)
    lab.clock.advance(9_000)

    answer = register(lab, 1, incarnation=1)

    assert answer.error_code == ErrorCode.NONE
    assert answer.broker_epoch > first
    assert lab.image.cluster.brokers[1].is_fenced


def test_a_broker_that_was_told_to_go_comes_back_at_once() -> None:
    lab = ControllerLab()
    start(lab, 1)
    assert heartbeat(lab, 1, want_shut_down=True).should_shut_down

    assert register(lab, 1, incarnation=1).error_code == ErrorCode.NONE


def test_a_broker_whose_link_broke_comes_back_after_one_heartbeat_interval() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    lab.liveness.on_link_closed(1, epoch, lab.clock.monotonic_ms(), 2_000)

    lab.clock.advance(1_999)
    assert register(lab, 1, incarnation=1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    lab.clock.advance(1)
    assert register(lab, 1, incarnation=1).error_code == ErrorCode.NONE


def test_asking_again_changes_nothing() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    before = lab.image.cluster.brokers[1]

    answer = register(lab, 1)

    assert (answer.error_code, answer.broker_epoch) == (ErrorCode.NONE, epoch)
    assert lab.records == []
    assert lab.image.cluster.brokers[1] == before


def test_the_same_incarnation_may_change_its_registration_and_keeps_epoch_and_state() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    heartbeat(lab, 1, cordoned=[directory_id(1)])

    answer = register(lab, 1, rack="c")

    broker = lab.image.cluster.brokers[1]
    assert answer.broker_epoch == epoch == broker.epoch
    assert (broker.rack, broker.is_fenced) == ("c", False)
    assert broker.cordoned_log_dirs == (directory_id(1),)


def test_a_broker_on_its_way_out_stays_on_its_way_out() -> None:
    lab = ControllerLab()
    start(lab, 1)
    lab.change_broker(1, in_controlled_shutdown=True)

    register(lab, 1, rack="c")

    assert lab.image.cluster.brokers[1].in_controlled_shutdown


def test_asking_again_does_not_raise_the_bar() -> None:
    lab = ControllerLab()
    epoch = register(lab, 1).broker_epoch
    lab.register_broker(2)
    register(lab, 1)

    assert not heartbeat(lab, 1, offset=epoch).is_fenced


def test_a_directory_that_is_no_longer_named_is_not_cordoned_either() -> None:
    lab = ControllerLab()
    both = [directory_id(1, 0), directory_id(1, 1)]
    start(lab, 1, log_dirs=both)
    heartbeat(lab, 1, cordoned=both)

    register(lab, 1, log_dirs=both[1:])

    assert list(lab.image.cluster.brokers[1].cordoned_log_dirs) == both[1:]


@pytest.mark.parametrize("level", [7, 16, 17, 29])
def test_a_registration_may_change_at_older_metadata_versions(level: int) -> None:
    lab = ControllerLab(metadata_level=level)
    start(lab, 1)

    assert register(lab, 1, rack="c").error_code == ErrorCode.NONE

    assert lab.image.cluster.brokers[1].rack == "c"


def test_a_new_incarnation_is_not_cordoned_until_it_says_so() -> None:
    lab = ControllerLab()
    start(lab, 1)
    heartbeat(lab, 1, cordoned=[directory_id(1)])
    lab.clock.advance(9_000)

    register(lab, 1, incarnation=1)

    assert lab.image.cluster.brokers[1].cordoned_log_dirs == ()


def test_a_broker_of_zookeeper_is_refused() -> None:
    lab = ControllerLab()

    answer = register(lab, 1, is_migrating_zk_broker=True)

    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize(
    ("directories", "why"),
    [
        ([], "none"),
        ([directory_id(1), directory_id(1)], "twice the same"),
        ([LOST_DIRECTORY], "a reserved one"),
        ([directory_id(1), directory_id(2)], "one of another broker"),
    ],
)
def test_directories_must_be_named_once_and_be_ones_own(directories: list[bytes], why: str) -> None:
    lab = ControllerLab()
    start(lab, 2)

    assert register(lab, 1, log_dirs=directories).error_code == ErrorCode.INVALID_REGISTRATION, why


def test_directories_are_neither_asked_for_nor_kept_before_3_7() -> None:
    lab = ControllerLab(metadata_level=16)

    assert register(lab, 1, log_dirs=[]).error_code == ErrorCode.NONE
    assert register(lab, 2, log_dirs=[directory_id(2)]).error_code == ErrorCode.NONE

    assert lab.image.cluster.brokers[2].log_dirs == ()


@pytest.mark.parametrize(
    "listeners",
    [
        [Listener("A", "h", 1, 0), Listener("A", "h", 2, 0)],
        [Listener("A", "h", 1, 4)],
    ],
)
def test_listeners_have_names_of_their_own_and_known_protocols(listeners: list[Listener]) -> None:
    lab = ControllerLab()

    assert register(lab, 1, listeners=listeners).error_code == ErrorCode.INVALID_REGISTRATION


def _features(**ranges: tuple[int, int] | None) -> list[Feature]:
    """Those of this release but for some; None leaves a feature out."""
    lab = ControllerLab()
    changed = {name.replace("_", "."): limits for name, limits in ranges.items()}
    features = []
    for one in registration_request(lab, 1).features:
        limits = changed.get(one.name, (one.min_supported_version, one.max_supported_version))
        if limits is not None:
            features.append(Feature(one.name, *limits))
    return features


@pytest.mark.parametrize(
    ("features", "code"),
    [
        (_features(metadata_version=(7, 29)), ErrorCode.UNSUPPORTED_VERSION),
        (_features(metadata_version=(31, 40)), ErrorCode.UNSUPPORTED_VERSION),
        (_features(metadata_version=None), ErrorCode.INVALID_REGISTRATION),
        (_features(group_version=None), ErrorCode.UNSUPPORTED_VERSION),
        (_features(group_version=(0, 0)), ErrorCode.UNSUPPORTED_VERSION),
        ([*_features(), Feature("of.the.future", 1, 2)], ErrorCode.UNSUPPORTED_VERSION),
        ([*_features(), Feature("of.the.future", 0, 2)], ErrorCode.NONE),
        (_features(), ErrorCode.NONE),
    ],
)
def test_a_broker_must_support_every_level_that_the_cluster_runs(
    features: list[Feature], code: ErrorCode
) -> None:
    lab = ControllerLab()

    assert register(lab, 1, features=features).error_code == code


def test_a_log_that_names_no_metadata_version_is_of_the_oldest() -> None:
    lab = ControllerLab()
    view = replace(lab.view(), image=EMPTY_IMAGE)

    for low, code in ((7, ErrorCode.NONE), (8, ErrorCode.UNSUPPORTED_VERSION)):
        request = registration_request(lab, 1, features=[Feature(METADATA_VERSION, low, 30)])
        assert decide_broker_registration(view, request, Context(4)).response.error_code == code


@pytest.mark.parametrize(("kraft_version", "code"), [(0, ErrorCode.NONE), (1, 35)])
def test_a_broker_must_support_the_version_of_the_quorum(kraft_version: int, code: int) -> None:
    lab = ControllerLab()
    request = registration_request(lab, 1)
    request.features = [one for one in request.features if one.name != KRAFT_VERSION]
    view = replace(lab.view(), quorum=QuorumFacts(kraft_version))

    result = decide_broker_registration(view, request, Context(4))

    assert result.response.error_code == code


def _in_sync(features: Mapping[str, int] | None = None) -> ControllerLab:
    """Brokers 1 and 2 keep `pair`, which needs both; 1 alone keeps `single`."""
    lab = ControllerLab(features=features)
    lab.set_config(4, "", "min.insync.replicas", "2")
    for broker_id in (1, 2):
        start(lab, broker_id)
    lab.create_topic("pair", {0: [1, 2]})
    lab.create_topic("single", {0: [1]})
    lab.clock.advance(9_000)
    return lab


def test_an_unclean_end_costs_a_broker_its_isr_and_elr() -> None:
    lab = _in_sync()

    register(lab, 1, incarnation=1, previous_broker_epoch=-1)

    assert lab.partition("pair").isr == (2,)
    assert lab.partition("pair").leader == 2
    assert lab.partition("pair").eligible_leader_replicas == ()
    assert lab.partition("single").isr == ()
    assert lab.partition("single").eligible_leader_replicas == ()
    assert lab.partition("single").leader == -1


def test_after_a_clean_end_a_broker_stays_eligible() -> None:
    lab = _in_sync()
    epoch = lab.image.cluster.brokers[1].epoch

    register(lab, 1, incarnation=1, previous_broker_epoch=epoch)

    assert lab.partition("pair").isr == (2,)
    assert lab.partition("pair").eligible_leader_replicas == (1,)
    assert lab.partition("single").eligible_leader_replicas == (1,)


def test_an_epoch_that_is_not_the_last_one_proves_nothing() -> None:
    lab = _in_sync()
    epoch = lab.image.cluster.brokers[1].epoch

    register(lab, 1, incarnation=1, previous_broker_epoch=epoch - 1)

    assert lab.partition("single").eligible_leader_replicas == ()


def test_a_broker_that_cannot_tell_how_it_ended_ended_uncleanly() -> None:
    lab = _in_sync()
    epoch = lab.image.cluster.brokers[1].epoch

    register(lab, 1, incarnation=1, version=2, previous_broker_epoch=epoch)

    assert lab.partition("single").eligible_leader_replicas == ()


def test_without_elr_the_last_in_sync_stays_in_sync() -> None:
    lab = _in_sync(features={ELIGIBLE_LEADER_REPLICAS_VERSION: 0})

    register(lab, 1, incarnation=1, previous_broker_epoch=-1)

    assert lab.partition("pair").isr == (2,)
    assert lab.partition("single").isr == (1,)
    assert lab.partition("single").leader == -1


def test_a_broker_has_to_see_all_of_its_registration_before_it_is_unfenced() -> None:
    lab = _in_sync()
    epoch = register(lab, 1, incarnation=1).broker_epoch
    assert len(lab.records) == 3

    answer = heartbeat(lab, 1, offset=epoch + 1)
    assert (answer.is_caught_up, answer.is_fenced) == (False, True)
    answer = heartbeat(lab, 1, offset=epoch + 2)
    assert (answer.is_caught_up, answer.is_fenced) == (True, False)
