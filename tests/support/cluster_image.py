"""Images of small clusters, built as the product builds them: by replaying records."""

from collections.abc import Mapping, Sequence

from barnabas_broker.cluster_view import ClusterView
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.register_broker_record import (
    BrokerEndpoint,
    RegisterBrokerRecord,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message

LISTENER = "PLAINTEXT"


def broker(
    broker_id: int = 1, host: str = "host", port: int = 9092, rack: str | None = None
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=broker_id,
        end_points=[BrokerEndpoint(LISTENER, host, port, 0)],
        rack=rack,
        fenced=False,
    )


def topic(
    name: str,
    topic_id: bytes,
    replicas: Sequence[Sequence[int]] = ((1,),),
    configs: Mapping[str, str] | None = None,
) -> list[Message]:
    """A topic whose partition n is kept by `replicas[n]`, led by the first of them."""
    records: list[Message] = [TopicRecord(name, topic_id)]
    for number, brokers in enumerate(replicas):
        records.append(
            PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=list(brokers),
                isr=list(brokers),
                leader=brokers[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes(16)] * len(brokers),
            )
        )
    for config, value in (configs or {}).items():
        records.append(ConfigRecord(TOPIC_RESOURCE, name, config, value))
    return records


def replayed(records: Sequence[Message], base: Image = EMPTY_IMAGE) -> tuple[Delta, Image]:
    delta = Delta(base)
    for record in records:
        delta.replay(record)
    at = base.provenance.offset + len(records)
    return delta, delta.apply(Provenance(at, 1, 1))


def cluster_view(records: Sequence[Message], node_id: int = 1) -> ClusterView:
    view = ClusterView("cluster", node_id)
    view.image = replayed(records)[1]
    return view
