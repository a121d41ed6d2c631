"""What a cluster is given once, before anything of it runs, and keeps in its status.

Two halves of a quorum that were formatted with different first voters could each take themselves
for the cluster. So the first voters are fixed together with the cluster's id, and changes of the
spec meanwhile wait until the quorum is there.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from barnabas_core.wire.primitive import uuid_text
from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.status import ClusterStatus
from barnabas_operator.specs.names import CONTROLLERS
from barnabas_operator.specs.node_ids import allocate_node_ids

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Identity:
    cluster_id: str
    first_node_ids: dict[str, int]
    initial_controllers: tuple[int, ...]


def identity_of(spec: ClusterSpec, status: ClusterStatus, new_id: Callable[[], bytes]) -> Identity:
    """From the status, and made up where it says nothing yet; `new_id` gives 16 random bytes."""
    given = {pool.name: pool.first_node_id for pool in status.pools}
    first_ids = allocate_node_ids(spec, given)
    return Identity(
        status.cluster_id or spec.cluster_id or uuid_text(_uuid(new_id)),
        first_ids,
        status.initial_controllers or _first_voters(spec, first_ids),
    )


def directory_id(cluster_id: str, node_id: int) -> str:
    """Of the metadata directory of a controller that starts the quorum.

    Only these are known ahead. A disk that is formatted later gets an id at random: one that lost
    its log must not be taken for the voter that it was.
    """
    drawn = hashlib.sha256(f"{cluster_id}/{node_id}".encode()).digest
    counter = iter(range(256))
    return uuid_text(_uuid(lambda: hashlib.sha256(drawn() + bytes([next(counter)])).digest()))


def _first_voters(spec: ClusterSpec, first_ids: dict[str, int]) -> tuple[int, ...]:
    pools = {pool.name: pool.replicas for pool in spec.brokers if pool.is_controller}
    if spec.controllers is not None:
        pools = {CONTROLLERS: spec.controllers.replicas}
    return tuple(
        node_id
        for pool, count in pools.items()
        for node_id in range(first_ids[pool], first_ids[pool] + count)
    )


def _uuid(draw: Callable[[], bytes]) -> bytes:
    """Version 4, and nothing that looks like an option on a command line."""
    while True:
        drawn = bytearray(draw()[:_ID_BYTES])
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if not uuid_text(bytes(drawn)).startswith("-"):
            return bytes(drawn)
