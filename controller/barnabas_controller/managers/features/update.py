"""UpdateFeatures (key 57), decided v0-v2.

v0 a flag that allows a downgrade; v1 the kind of upgrade, and validation only; v2 one error for the
request instead of one per feature. All features change together or none does.

`metadata.version` goes down only across levels that changed no record: what a log holds at a higher
one could not be read. `kraft.version` is the quorum's own, so a wish for it comes out beside the
records. Turning on eligible leader replicas fixes the minimum ISR for the whole cluster first: an
ELR means something only if all brokers agree on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas_controller.managers.features.support_check import reason_not_supported
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    FeatureError,
    changed_metadata_between,
    check_dependencies,
    name_of_level,
)
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from barnabas_core.wire.messages.update_features_response import (
    UpdatableFeatureResult,
    UpdateFeaturesResponse,
)
from barnabas_core.wire.schema import Message

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_ALL_FAILED: Final = "The update failed for all features since the following feature had an error: "


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate(Result[UpdateFeaturesResponse]):
    kraft_version: int | None = None
    """The quorum must change to this one, by its own control records, before the response."""


class _Update(NamedTuple):
    feature: str
    level: int
    type: UpgradeType | None
    """None if it is of no known kind."""


def decide_update_features(
    view: View, request: UpdateFeaturesRequest, context: Context
) -> FeatureUpdate:
    updates = {one.feature: _parsed(one, context.api_version) for one in request.feature_updates}
    proposed = {**view.image.features, METADATA_VERSION: view.image.metadata_level}
    proposed |= {update.feature: update.level for update in updates.values()}
    for update in updates.values():
        reason = _refusal(view, update, proposed)
        if reason is not None:
            return FeatureUpdate((), _failed(reason))
    response = _succeeded(request)
    if request.validate_only:
        return FeatureUpdate((), response)
    records: list[Message] = []
    if proposed.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0 and (
        ELIGIBLE_LEADER_REPLICAS_VERSION in updates
    ):
        records += min_isr_records(view)
    records += [_record(update) for update in updates.values()]
    return FeatureUpdate(records, response, _kraft_change(view, updates))


def min_isr_records(view: View) -> list[Message]:
    """One minimum ISR for all brokers, set for the cluster and not for any of them."""
    records: list[Message] = []
    by_broker = {
        resource.name: values
        for resource, values in sorted(view.image.configs.items())
        if resource.type == BROKER_RESOURCE and MIN_INSYNC_REPLICAS in values
    }
    if "" not in by_broker:
        records.append(_min_isr("", str(view.settings.min_insync_replicas)))
    records += [_min_isr(name, None) for name in by_broker if name]
    return records


def _parsed(key: FeatureUpdateKey, version: int) -> _Update:
    if version == 0:
        kind = UpgradeType.SAFE_DOWNGRADE if key.allow_downgrade else UpgradeType.UPGRADE
        return _Update(key.feature, key.max_version_level, kind)
    known = key.upgrade_type in list(UpgradeType)
    return _Update(
        key.feature, key.max_version_level, UpgradeType(key.upgrade_type) if known else None
    )


def _refusal(view: View, update: _Update, proposed: Mapping[str, int]) -> str | None:
    """Why one feature cannot be changed, in Kafka's words; None if it can."""
    reason = _general_refusal(view, update)
    if reason is None and update.feature == METADATA_VERSION:
        return _metadata_version_refusal(view, update)
    if reason is None and update.feature == KRAFT_VERSION:
        reason = _kraft_version_refusal(view, update)
    elif reason is None:
        reason = _dependency_refusal(update, proposed)
    if reason is None:
        return None
    return f"Invalid update version {update.level} for feature {update.feature}. {reason}"


def _general_refusal(view: View, update: _Update) -> str | None:
    current = _current_level(view, update.feature)
    if update.type is None:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    unsupported = reason_not_supported(view, update.feature, update.level)
    if unsupported is not None:
        return unsupported
    is_upgrade = update.type is UpgradeType.UPGRADE
    if update.level < current and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if update.level > current and not is_upgrade:
        return "Can't downgrade to a newer version."
    return None


def _metadata_version_refusal(view: View, update: _Update) -> str | None:
    current = view.image.metadata_level
    if not changed_metadata_between(update.level, current):
        return None
    if update.type is UpgradeType.UNSAFE_DOWNGRADE:
        reason = "Unsafe metadata downgrade is not supported in this version."
    else:
        reason = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    return (
        f"Unsupported metadata.version downgrade from {name_of_level(current)} to "
        f"{name_of_level(update.level)}. {reason}"
    )


def _kraft_version_refusal(view: View, update: _Update) -> str | None:
    if update.type is UpgradeType.UPGRADE or update.level == view.quorum.kraft_version:
        return None
    return "Can't downgrade the version of this feature."


def _dependency_refusal(update: _Update, proposed: Mapping[str, int]) -> str | None:
    try:
        check_dependencies(update.feature, update.level, proposed)
    except FeatureError as error:
        return str(error)
    return None


def _current_level(view: View, feature: str) -> int:
    if feature == METADATA_VERSION:
        return view.image.metadata_level
    if feature == KRAFT_VERSION:
        return view.quorum.kraft_version
    return view.image.feature(feature)


def _kraft_change(view: View, updates: Mapping[str, _Update]) -> int | None:
    wanted = updates.get(KRAFT_VERSION)
    if wanted is None or wanted.level == view.quorum.kraft_version:
        return None
    return wanted.level


def _record(update: _Update) -> Message:
    if update.feature == KRAFT_VERSION:
        # The response waits for it, and so for the control records that the quorum writes before.
        return NoOpRecord()
    return FeatureLevelRecord(name=update.feature, feature_level=update.level)


def _min_isr(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=BROKER_RESOURCE, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value
    )


def _failed(reason: str) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(
        error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=_ALL_FAILED + reason
    )


def _succeeded(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    results = [
        UpdatableFeatureResult(feature=one.feature, error_message=None)
        for one in request.feature_updates
    ]
    return UpdateFeaturesResponse(error_message=None, results=results)
