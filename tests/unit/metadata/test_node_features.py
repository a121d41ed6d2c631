"""What this release supports, and what a cluster runs."""

from barnabas_core.metadata.feature import GROUP_VERSION, KRAFT_VERSION, METADATA_VERSION
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.metadata.node_features import (
    finalized_epoch,
    finalized_features,
    local_features,
)
from tests.support.controller_lab import ControllerLab


def test_a_node_supports_the_production_levels_of_its_release() -> None:
    supported = {one.name: (one.minimum, one.maximum) for one in local_features()}

    assert supported == {
        "metadata.version": (7, 30),
        "kraft.version": (0, 1),
        "transaction.version": (0, 2),
        "group.version": (0, 1),
        "eligible.leader.replicas.version": (0, 1),
        "share.version": (0, 1),
        "streams.version": (0, 1),
    }


def test_unstable_levels_are_supported_on_demand() -> None:
    supported = {one.name: one.maximum for one in local_features(unstable=True)}

    assert supported[METADATA_VERSION] == 31


def test_finalized_features_are_those_that_are_on() -> None:
    lab = ControllerLab(features={GROUP_VERSION: 1})

    assert finalized_features(lab.image, 0) == {GROUP_VERSION: 1, METADATA_VERSION: 30}
    assert finalized_features(lab.image, 1)[KRAFT_VERSION] == 1
    assert finalized_epoch(lab.image) == lab.next_offset - 1


def test_a_log_that_names_no_version_is_of_the_oldest() -> None:
    assert finalized_features(EMPTY_IMAGE, 0) == {METADATA_VERSION: 7}
