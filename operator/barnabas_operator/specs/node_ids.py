"""Node ids: each pool has a range of its own, given once and never given to another.

A StatefulSet counts its pods from the first id of its range on (`ordinals.start`), so the number
in a pod's name is its node id. Ranges of pools that are gone stay theirs: a pool that comes back
under its name finds its volumes and its ids.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.specs.names import CONTROLLERS, GROUP

RANGE_SIZE: Final = 1000
_CONTROLLERS_FIRST: Final = 100_000
_COORDINATORS_FIRST: Final = 200_000


def allocate_node_ids(spec: ClusterSpec, given: Mapping[str, int]) -> dict[str, int]:
    """First node id by pool: those that were `given`, and new ones for pools that have none."""
    found = dict(given)
    for pool in spec.brokers:
        if pool.name not in found:
            found[pool.name] = _next(found.values(), 0)
    if spec.controllers is not None and CONTROLLERS not in found:
        found[CONTROLLERS] = _next(found.values(), _CONTROLLERS_FIRST)
    if spec.coordinators is not None and spec.coordinators.group and GROUP not in found:
        found[GROUP] = _next(found.values(), _COORDINATORS_FIRST)
    return found


def _next(taken: Iterable[int], first: int) -> int:
    used = set(taken)
    while first in used:
        first += RANGE_SIZE
    return first
