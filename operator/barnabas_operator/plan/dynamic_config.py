"""Which properties of `spec.config` brokers obey while they run, and which need a restart.

The tables of the properties know. Only what may be set for all brokers at once is set so; what is
for one broker at a time goes to the files like what is read once.
"""

from collections.abc import Mapping
from typing import Final

from barnabas_core.config.definition import Kind, definitions
from barnabas_operator.plan.actions import SetDynamicConfig

_CLUSTER_WIDE: Final = "cluster-wide"
_SET_BY_CONTROLLERS: Final = "min.insync.replicas"
"""With eligible leader replicas (KIP-966) they write down their own, and keep it so."""


def is_dynamic(name: str) -> bool:
    if name in definitions(Kind.BROKER_DYNAMIC_ONLY):
        return True
    row = definitions(Kind.BROKER).get(name)
    return row is not None and row.update_mode == _CLUSTER_WIDE


def split_config(
    config: Mapping[str, str | None],
) -> tuple[dict[str, str | None], dict[str, str]]:
    """(what is set while brokers run, what stands in their files)."""
    dynamic = {name: value for name, value in config.items() if is_dynamic(name)}
    static = {
        name: value for name, value in config.items() if name not in dynamic and value is not None
    }
    return dynamic, static


def plan_dynamic_config(
    desired: Mapping[str, str | None], observed: Mapping[str, str] | None
) -> SetDynamicConfig | None:
    """What differs: what is not named goes back to its default, what is null is left alone.

    Throttles and the like exist only while brokers run: whoever set them also takes them away.
    """
    if observed is None:
        return None
    changes = {
        name: value
        for name, value in sorted(desired.items())
        if value is not None and observed.get(name) != value
    }
    resets = sorted(
        name
        for name in observed.keys() - desired.keys()
        if name not in definitions(Kind.BROKER_DYNAMIC_ONLY) and name != _SET_BY_CONTROLLERS
    )
    if not changes and not resets:
        return None
    return SetDynamicConfig({**changes, **dict.fromkeys(resets)})
