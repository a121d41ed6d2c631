"""Moments as Kubernetes writes them."""

from datetime import UTC, datetime

from barnabas_core.ports import Clock


def moment(clock: Clock) -> str:
    now = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
