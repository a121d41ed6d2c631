"""Has anything changed that an assignment depends on? One number says so (KIP-1101).

It stands in ConsumerGroupMetadata records, where Kafka writes one of its own making: a group taken
over from Kafka is assigned anew once.
"""

from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct
from typing import Final

from barnabas_core.metadata.image import Image
from barnabas_core.metadata.topics_image import TopicImage

_COUNT: Final = Struct(">i")


def hash_of(topic_names: Iterable[str], image: Image) -> int:
    """Of those of the topics that exist: ids, numbers of partitions, racks. 0 if none does."""
    racks = {broker.id: broker.rack for broker in image.cluster.brokers.values() if broker.rack}
    total = blake2b(digest_size=8)
    is_empty = True
    for name in sorted(topic_names):
        topic = image.topics.named(name)
        if topic is not None:
            is_empty = False
            total.update(topic.id + _COUNT.pack(len(topic.partitions)))
            if racks:
                total.update(_racks_of(topic, racks))
    return 0 if is_empty else int.from_bytes(total.digest(), "big", signed=True)


def _racks_of(topic: TopicImage, racks: dict[int, str]) -> bytes:
    each = (
        ",".join(sorted({racks[one] for one in partition.replicas if one in racks}))
        for _, partition in sorted(topic.partitions.items())
    )
    return ";".join(each).encode() + b"\0"
