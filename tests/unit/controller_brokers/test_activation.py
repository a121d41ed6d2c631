"""What a controller appends when it becomes active."""

from dataclasses import replace

import pytest

from barnabas_controller.managers.brokers.activation import BadBootstrap, decide_bootstrap
from barnabas_controller.managers.view import View
from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    METADATA_VERSION,
)
from barnabas_core.metadata.image import EMPTY_IMAGE, Provenance
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from tests.support.controller_lab import SETTINGS, ControllerLab

VERSION = FeatureLevelRecord(name=METADATA_VERSION, feature_level=30)
GROUP = FeatureLevelRecord(name=GROUP_VERSION, feature_level=1)
ELR = FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=1)
SCRAM = UserScramCredentialRecord(name="admin", mechanism=1)


def _empty_view() -> View:
    """A log may hold control records of the quorum and yet be empty."""
    settings = replace(SETTINGS, min_insync_replicas=2)
    image = replace(EMPTY_IMAGE, provenance=Provenance(2, 1, 0))
    return replace(ControllerLab(settings).view(), image=image)


def test_an_empty_log_begins_with_the_bootstrap_records_features_first() -> None:
    result = decide_bootstrap(_empty_view(), [SCRAM, GROUP, VERSION])

    assert list(result.records) == [VERSION, GROUP, SCRAM]


def test_eligible_leader_replicas_start_with_a_minimum_isr_for_the_cluster() -> None:
    result = decide_bootstrap(_empty_view(), [VERSION, ELR])

    config = result.records[-1]
    assert isinstance(config, ConfigRecord)
    assert (config.resource_type, config.resource_name) == (4, "")
    assert (config.name, config.value) == ("min.insync.replicas", "2")


def test_a_minimum_isr_among_the_bootstrap_records_is_kept() -> None:
    config = ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="3")

    result = decide_bootstrap(_empty_view(), [VERSION, ELR, config])

    assert list(result.records) == [VERSION, ELR, config]


def test_a_cluster_needs_a_metadata_version_to_begin() -> None:
    with pytest.raises(BadBootstrap, match=r"which metadata\.version"):
        decide_bootstrap(_empty_view(), [GROUP])


def test_later_activations_append_nothing() -> None:
    lab = ControllerLab()

    assert list(decide_bootstrap(lab.view(), [VERSION, GROUP]).records) == []
    assert list(decide_bootstrap(lab.view(), []).records) == []
