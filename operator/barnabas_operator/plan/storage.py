"""Volumes grow and never shrink: the size in the resource is a floor.

A volume that somebody made larger stays so.
"""

from collections.abc import Iterable

from barnabas_operator.plan.actions import ExpandClaim
from barnabas_operator.plan.observed import ClaimState


def plan_storage(claims: Iterable[ClaimState]) -> tuple[ExpandClaim, ...]:
    return tuple(
        ExpandClaim(one.name, one.wanted_bytes)
        for one in claims
        if one.requested_bytes < one.wanted_bytes
    )


def reasons_not_grown(claims: Iterable[ClaimState]) -> tuple[str, ...]:
    """Volumes whose file system has not the size that was asked for; not bound ones have none."""
    return tuple(
        f"{one.name} has {one.capacity_bytes} of {one.wanted_bytes} bytes"
        for one in claims
        if one.capacity_bytes < one.wanted_bytes
    )
