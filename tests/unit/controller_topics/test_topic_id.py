"""Topic ids: version 4, never reserved, never an option of a command."""

import base64

from hypothesis import given
from hypothesis import strategies as st

from barnabas_controller.managers.topics.topic_id import new_topic_id
from barnabas_core.metadata.topics_image import TopicImage, TopicsImage
from barnabas_core.runtime.rng import SeededRng


class ScriptedRng:
    """Hands out these bytes, one after the other."""

    def __init__(self, *drawn: bytes) -> None:
        self._drawn = list(drawn)

    def randbytes(self, size: int) -> bytes:
        return self._drawn.pop(0)

    def randrange(self, stop: int) -> int:
        raise AssertionError(stop)


@given(st.integers(0, 2**32))
def test_an_id_is_a_random_uuid_of_version_4(seed: int) -> None:
    drawn = new_topic_id(SeededRng(seed), TopicsImage())

    assert drawn[6] >> 4 == 4
    assert drawn[8] >> 6 == 2
    assert not base64.urlsafe_b64encode(drawn).startswith(b"-")


def test_an_id_that_would_read_as_an_option_is_drawn_again() -> None:
    dash = base64.urlsafe_b64decode(b"-" + b"A" * 21 + b"==")

    drawn = new_topic_id(ScriptedRng(dash, bytes(16)), TopicsImage())

    assert drawn == bytes((0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0))


def test_an_id_that_is_taken_is_drawn_again() -> None:
    taken = new_topic_id(ScriptedRng(bytes(16)), TopicsImage())
    topics = TopicsImage({taken: TopicImage("t", taken)}, {"t": taken})

    drawn = new_topic_id(ScriptedRng(bytes(16), b"\x01" * 16), topics)

    assert drawn != taken
