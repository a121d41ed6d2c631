"""A lab for each test; after it, what is durable must come back from the log."""

from collections.abc import Iterator

import pytest

from tests.support.classic_lab import ClassicLab


@pytest.fixture
def lab() -> Iterator[ClassicLab]:
    made = ClassicLab()
    yield made
    made.shard.check_replay()
