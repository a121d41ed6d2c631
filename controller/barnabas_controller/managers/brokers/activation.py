"""What a controller appends when it becomes active.

On an empty log, the bootstrap records that `kafka-storage format` left: the features first, as they
say at which versions the rest is written. All of it is one batch, so a cluster never begins by
half. On any other log, nothing: a leader's first record is the quorum's own.
"""

from collections.abc import Sequence
from dataclasses import replace

from barnabas_controller.managers.features.update import MIN_INSYNC_REPLICAS, min_isr_records
from barnabas_controller.managers.view import Result, View
from barnabas_core.metadata.feature import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from barnabas_core.metadata.image import EMPTY_IMAGE, NOWHERE
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.schema import Message


class BadBootstrap(Exception):
    """Bootstrap records that begin no cluster."""


def decide_bootstrap(view: View, bootstrap_records: Sequence[Message]) -> Result[None]:
    """`BadBootstrap` if the log is empty and the records do not name a metadata version."""
    if replace(view.image, provenance=NOWHERE) != EMPTY_IMAGE:
        return Result((), None)
    features = [one for one in bootstrap_records if isinstance(one, FeatureLevelRecord)]
    rest = [one for one in bootstrap_records if not isinstance(one, FeatureLevelRecord)]
    levels = {one.name: one.feature_level for one in features}
    if METADATA_VERSION not in levels:
        raise BadBootstrap(f"the bootstrap records do not say which {METADATA_VERSION} to start at")
    # `sorted` keeps the order of the others.
    records: list[Message] = [*sorted(features, key=lambda one: one.name != METADATA_VERSION)]
    records += rest
    needs_min_isr = levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0
    if needs_min_isr and not any(map(_is_cluster_min_isr, rest)):
        records += min_isr_records(view)
    return Result(records, None)


def _is_cluster_min_isr(record: Message) -> bool:
    return (
        isinstance(record, ConfigRecord)
        and record.resource_type == BROKER_RESOURCE
        and record.resource_name == ""
        and record.name == MIN_INSYNC_REPLICAS
    )
