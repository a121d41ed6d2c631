"""A shard with two topics, whose log is replayed at the end of each test."""

from collections.abc import Iterator

import pytest

from tests.support.offsets_lab import OffsetsLab, image_of, offsets_lab


@pytest.fixture
def lab() -> Iterator[OffsetsLab]:
    lab = offsets_lab(image_of(["cats", "dogs"]))
    yield lab
    lab.check_replay()
