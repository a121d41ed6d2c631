"""Does every node that is registered support a level of a feature?"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas_controller.managers.view import ControllerSettings, View
from barnabas_core.metadata.cluster_image import SupportedFeature
from barnabas_core.metadata.feature import is_record_supported
from barnabas_core.metadata.node_features import local_features

_UNSTABLE_PROPERTY: Final = "unstable.feature.versions.enable"


class _Node(NamedTuple):
    name: str
    features: tuple[SupportedFeature, ...]


def reason_not_supported(view: View, feature: str, level: int) -> str | None:
    """Why a level cannot be had; None if all support it."""
    for node in _nodes(view):
        reason = _reason(node, feature, level)
        if reason is not None:
            return reason
    if _are_controllers_known(view):
        known = {view.settings.node_id, *view.image.cluster.controllers}
        for voter_id in view.quorum.voter_ids:
            if voter_id not in known:
                return f"controller {voter_id} has not registered, and may not support this feature"
    return None


def runs_unstable(settings: ControllerSettings) -> bool:
    return settings.static_configs.get(_UNSTABLE_PROPERTY, "").strip().lower() == "true"


def _nodes(view: View) -> Iterator[_Node]:
    own_id = view.settings.node_id
    yield _Node(f"Local controller {own_id}", local_features(unstable=runs_unstable(view.settings)))
    for broker_id, broker in sorted(view.image.cluster.brokers.items()):
        yield _Node(f"Broker {broker_id}", broker.features)
    if _are_controllers_known(view):
        for controller_id, controller in sorted(view.image.cluster.controllers.items()):
            if controller_id != own_id:
                yield _Node(f"Controller {controller_id}", controller.features)


def _are_controllers_known(view: View) -> bool:
    return is_record_supported("RegisterControllerRecord", view.image.metadata_level)


def _reason(node: _Node, feature: str, level: int) -> str | None:
    # Level 0 is the absence of a feature: whoever does not know it supports that.
    low, high = next(
        ((one.minimum, one.maximum) for one in node.features if one.name == feature), (0, 0)
    )
    if low <= level <= high:
        return None
    if high == 0:
        return f"{node.name} does not support this feature."
    versions = str(low) if low == high else f"{low}-{high}"
    return f"{node.name} only supports versions {versions}"
