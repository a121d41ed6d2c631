"""Every test ends with the check that its log alone brings back what is durable."""

from collections.abc import Iterator

import pytest

from tests.support.consumer_lab import ConsumerLab


@pytest.fixture
def lab() -> Iterator[ConsumerLab]:
    """One topic `t` of four partitions."""
    made = ConsumerLab({"t": 4})
    yield made
    made.check_replay()
