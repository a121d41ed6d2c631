"""New topic ids: random UUIDs, as Kafka draws them."""

from barnabas_core.metadata.topics_image import TopicsImage
from barnabas_core.ports import Rng


def new_topic_id(rng: Rng, topics: TopicsImage) -> bytes:
    while True:
        drawn = bytearray(rng.randbytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40  # version 4
        drawn[8] = drawn[8] & 0x3F | 0x80  # its variant, which no reserved id has
        # As text it would begin with '-', which tools take for an option.
        if drawn[0] >> 2 != 62 and bytes(drawn) not in topics.by_id:
            return bytes(drawn)
