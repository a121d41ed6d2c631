"""UpdateFeatures."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from barnabas_controller.managers.features.update import FeatureUpdate, decide_update_features
from barnabas_controller.managers.view import Context, QuorumFacts, View
from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
)
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, ConfigResource
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.register_broker_record import BrokerFeature, RegisterBrokerRecord
from barnabas_core.wire.messages.register_controller_record import (
    ControllerFeature,
    RegisterControllerRecord,
)
from barnabas_core.wire.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from barnabas_core.wire.messages.update_features_response import UpdateFeaturesResponse
from tests.support.controller_lab import SETTINGS, ControllerLab

UPGRADE, SAFE, UNSAFE = 1, 2, 3
ALL_FAILED = "The update failed for all features since the following feature had an error: "


def _request(*updates: tuple[str, int, int], validate_only: bool = False) -> UpdateFeaturesRequest:
    keys = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        for name, level, kind in updates
    ]
    return UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only)


def _update(
    lab: ControllerLab, *updates: tuple[str, int, int], validate_only: bool = False
) -> UpdateFeaturesResponse:
    return lab.decide(decide_update_features, _request(*updates, validate_only=validate_only))


def _with_quorum(
    lab: ControllerLab, facts: QuorumFacts, *updates: tuple[str, int, int]
) -> FeatureUpdate:
    view: View = replace(lab.view(), quorum=facts)
    return decide_update_features(view, _request(*updates), Context(2))


def _reason(response: UpdateFeaturesResponse) -> str:
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert response.error_message is not None
    assert response.error_message.startswith(ALL_FAILED)
    return response.error_message.removeprefix(ALL_FAILED)


def test_metadata_version_goes_up_to_any_level_of_production() -> None:
    lab = ControllerLab(metadata_level=17, features={})

    answer = _update(lab, (METADATA_VERSION, 25, UPGRADE))

    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert lab.image.metadata_level == 25


@pytest.mark.parametrize("level", [6, 31, 200])
def test_metadata_version_has_a_lowest_and_a_highest_level(level: int) -> None:
    lab = ControllerLab()
    kind = UPGRADE if level > 30 else UNSAFE

    assert _reason(_update(lab, (METADATA_VERSION, level, kind))) == (
        f"Invalid update version {level} for feature metadata.version. "
        "Local controller 3000 only supports versions 7-30"
    )


def test_an_unstable_level_is_had_on_demand() -> None:
    configs = {"unstable.feature.versions.enable": "true"}
    lab = ControllerLab(replace(SETTINGS, static_configs=configs))

    assert _update(lab, (METADATA_VERSION, 31, UPGRADE)).error_code == ErrorCode.NONE


def test_metadata_version_goes_down_across_levels_that_changed_no_record() -> None:
    lab = ControllerLab(metadata_level=29)

    assert _update(lab, (METADATA_VERSION, 23, SAFE)).error_code == ErrorCode.NONE
    assert lab.image.metadata_level == 23


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (SAFE, "Refusing to perform the requested downgrade because it might delete metadata"),
        (UNSAFE, "Unsafe metadata downgrade is not supported in this version."),
    ],
)
@pytest.mark.parametrize(("at", "to"), [(30, 29), (23, 22), (29, 22)])
def test_metadata_version_never_goes_below_a_level_that_changed_records(
    at: int, to: int, kind: int, reason: str
) -> None:
    lab = ControllerLab(metadata_level=at, features={})

    message = _reason(_update(lab, (METADATA_VERSION, to, kind)))

    assert message.startswith("Unsupported metadata.version downgrade from 4.")
    assert reason in message
    assert lab.image.metadata_level == at


@pytest.mark.parametrize("kind", [SAFE, UNSAFE])
def test_another_feature_may_be_turned_off(kind: int) -> None:
    lab = ControllerLab()

    assert _update(lab, (SHARE_VERSION, 0, kind)).error_code == ErrorCode.NONE

    assert SHARE_VERSION not in lab.image.features


def test_nothing_goes_down_by_an_upgrade() -> None:
    lab = ControllerLab()

    assert "without setting the upgrade type" in _reason(_update(lab, (GROUP_VERSION, 0, UPGRADE)))


def test_nothing_goes_up_by_a_downgrade() -> None:
    lab = ControllerLab(features={})

    assert _reason(_update(lab, (GROUP_VERSION, 1, SAFE))) == (
        "Invalid update version 1 for feature group.version. Can't downgrade to a newer version."
    )


@pytest.mark.parametrize("kind", [0, 4])
def test_an_unknown_kind_of_change_is_refused(kind: int) -> None:
    lab = ControllerLab(features={})

    assert "given upgrade type" in _reason(_update(lab, (GROUP_VERSION, 1, kind)))


def test_a_negative_level_is_refused() -> None:
    assert "less than 0" in _reason(_update(ControllerLab(), (GROUP_VERSION, -1, SAFE)))


@pytest.mark.parametrize(
    ("level", "reason"),
    [(1, "Local controller 3000 does not support this feature."), (0, "Unsupported feature")],
)
def test_an_unknown_feature_has_no_level(level: int, reason: str) -> None:
    assert reason in _reason(_update(ControllerLab(), ("of.the.future", level, UPGRADE)))


def _register_old_broker(lab: ControllerLab, features: Sequence[tuple[str, int, int]]) -> None:
    record = RegisterBrokerRecord(
        broker_id=4, features=[BrokerFeature(*one) for one in features], log_dirs=[b"d" * 16]
    )
    lab.apply([record])


def test_every_registered_broker_must_support_a_level_fenced_or_not() -> None:
    lab = ControllerLab(metadata_level=20, features={})
    _register_old_broker(lab, [(METADATA_VERSION, 7, 25)])

    assert _reason(_update(lab, (METADATA_VERSION, 26, UPGRADE))).endswith(
        "Broker 4 only supports versions 7-25"
    )
    assert _reason(_update(lab, (GROUP_VERSION, 1, UPGRADE))).endswith(
        "Broker 4 does not support this feature."
    )
    assert _update(lab, (METADATA_VERSION, 25, UPGRADE)).error_code == ErrorCode.NONE


def test_every_registered_controller_must_support_a_level() -> None:
    lab = ControllerLab(metadata_level=20, features={})
    features = [ControllerFeature(METADATA_VERSION, 7, 25)]
    lab.apply([RegisterControllerRecord(controller_id=3001, features=features)])

    assert _reason(_update(lab, (METADATA_VERSION, 26, UPGRADE))).endswith(
        "Controller 3001 only supports versions 7-25"
    )


def test_what_this_controller_said_of_itself_before_an_upgrade_does_not_count() -> None:
    lab = ControllerLab(metadata_level=20, features={})
    features = [ControllerFeature(METADATA_VERSION, 7, 25)]
    lab.apply([RegisterControllerRecord(controller_id=3000, features=features)])

    assert _update(lab, (METADATA_VERSION, 26, UPGRADE)).error_code == ErrorCode.NONE


def test_a_voter_that_has_not_registered_may_not_support_it() -> None:
    lab = ControllerLab(metadata_level=20, features={})

    result = _with_quorum(lab, QuorumFacts(1, (3000, 3001)), (METADATA_VERSION, 26, UPGRADE))

    assert _reason(result.response).endswith(
        "controller 3001 has not registered, and may not support this feature"
    )
    assert list(result.records) == []


def test_before_3_7_controllers_cannot_register_and_are_not_asked() -> None:
    lab = ControllerLab(metadata_level=14, features={})

    result = _with_quorum(lab, QuorumFacts(0, (3000, 3001)), (METADATA_VERSION, 26, UPGRADE))

    assert result.response.error_code == ErrorCode.NONE


def test_a_feature_needs_what_it_depends_on() -> None:
    lab = ControllerLab(metadata_level=22, features={})

    assert _reason(_update(lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE))).endswith(
        "eligible.leader.replicas.version could not be set to 1 because it depends on "
        "metadata.version level 23"
    )


def test_what_a_feature_depends_on_may_come_with_it() -> None:
    lab = ControllerLab(metadata_level=22, features={})

    answer = _update(
        lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE), (METADATA_VERSION, 23, UPGRADE)
    )

    assert answer.error_code == ErrorCode.NONE
    assert lab.image.feature(ELIGIBLE_LEADER_REPLICAS_VERSION) == 1


def test_all_features_change_or_none_does() -> None:
    lab = ControllerLab(features={})

    _reason(_update(lab, (GROUP_VERSION, 1, UPGRADE), (SHARE_VERSION, 7, UPGRADE)))

    assert lab.records == []


def test_validation_alone_changes_nothing() -> None:
    lab = ControllerLab(features={})

    ok = _update(lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE), validate_only=True)
    assert ok.error_code == ErrorCode.NONE
    assert lab.records == []

    _reason(_update(lab, (SHARE_VERSION, 7, UPGRADE), validate_only=True))


@pytest.mark.parametrize(("version", "named"), [(0, True), (1, True), (2, False)])
def test_features_are_answered_one_by_one_up_to_version_1(version: int, named: bool) -> None:
    lab = ControllerLab(features={})
    request = _request((SHARE_VERSION, 1, UPGRADE), (GROUP_VERSION, 1, UPGRADE))
    if version == 0:
        request.feature_updates[0].upgrade_type = request.feature_updates[1].upgrade_type = 1

    answer = lab.decide(decide_update_features, request, version)

    results = [(one.feature, one.error_code) for one in answer.results]
    assert results == ([(SHARE_VERSION, 0), (GROUP_VERSION, 0)] if named else [])


@pytest.mark.parametrize(("allowed", "code"), [(True, 0), (False, 95)])
def test_version_0_says_with_a_flag_that_a_downgrade_is_meant(allowed: bool, code: int) -> None:
    lab = ControllerLab()
    key = FeatureUpdateKey(feature=SHARE_VERSION, max_version_level=0, allow_downgrade=allowed)

    answer = lab.decide(decide_update_features, UpdateFeaturesRequest(feature_updates=[key]), 0)

    assert answer.error_code == code


def test_eligible_leader_replicas_fix_the_minimum_isr_for_the_cluster() -> None:
    lab = ControllerLab(replace(SETTINGS, min_insync_replicas=2), features={})
    lab.set_config(BROKER_RESOURCE, "1", "min.insync.replicas", "3")
    lab.set_config(BROKER_RESOURCE, "1", "log.retention.ms", "5")
    lab.set_config(BROKER_RESOURCE, "2", "min.insync.replicas", "1")

    _update(lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE))

    assert lab.image.configs == {
        ConfigResource(BROKER_RESOURCE, ""): {"min.insync.replicas": "2"},
        ConfigResource(BROKER_RESOURCE, "1"): {"log.retention.ms": "5"},
    }
    kinds = [type(record) for record in lab.records]
    assert kinds == [ConfigRecord, ConfigRecord, ConfigRecord, FeatureLevelRecord]


def test_a_minimum_isr_that_the_cluster_has_stays() -> None:
    lab = ControllerLab(features={})
    lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "3")

    _update(lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE))

    assert lab.image.configs == {ConfigResource(BROKER_RESOURCE, ""): {"min.insync.replicas": "3"}}


def test_turning_eligible_leader_replicas_off_leaves_configs_alone() -> None:
    lab = ControllerLab()

    assert _update(lab, (ELIGIBLE_LEADER_REPLICAS_VERSION, 0, SAFE)).error_code == ErrorCode.NONE

    assert [type(record) for record in lab.records] == [FeatureLevelRecord]


def test_the_version_of_the_quorum_is_left_to_the_quorum() -> None:
    lab = ControllerLab()

    result = _with_quorum(lab, QuorumFacts(0, (3000,)), (KRAFT_VERSION, 1, UPGRADE))

    assert result.response.error_code == ErrorCode.NONE
    assert result.kraft_version == 1
    assert [type(record) for record in result.records] == [NoOpRecord]


def test_the_version_of_the_quorum_never_goes_down() -> None:
    lab = ControllerLab()

    result = _with_quorum(lab, QuorumFacts(1), (KRAFT_VERSION, 0, SAFE))

    assert "Can't downgrade the version of this feature." in _reason(result.response)
    assert result.kraft_version is None


@pytest.mark.parametrize("kind", [UPGRADE, SAFE])
def test_a_version_that_the_quorum_has_is_nothing_to_do_for_it(kind: int) -> None:
    lab = ControllerLab()

    result = _with_quorum(lab, QuorumFacts(1), (KRAFT_VERSION, 1, kind))

    assert result.response.error_code == ErrorCode.NONE
    assert result.kraft_version is None
