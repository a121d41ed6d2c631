"""Binaries first, then features: levels rise once every node runs what knows them. Never down."""

from collections.abc import Mapping

from barnabas_operator.plan.actions import UpdateFeatures


def plan_features(
    wanted: Mapping[str, int], finalized: Mapping[str, int] | None, *, are_binaries_done: bool
) -> UpdateFeatures | None:
    if finalized is None or not are_binaries_done:
        return None
    levels = {
        name: level for name, level in sorted(wanted.items()) if finalized.get(name, 0) < level
    }
    return UpdateFeatures(levels) if levels else None
