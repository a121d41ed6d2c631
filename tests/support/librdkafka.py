"""librdkafka (confluent-kafka) against our own cluster: produce, and read back by assignment."""

from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

TIMEOUT_S = 60.0


def produce(
    bootstrap: str, topic: str, values: Iterable[bytes], **options: str | float
) -> list[tuple[int, int]]:
    """Send all of them and wait; (partition, offset) of each, in the order of delivery."""
    producer = Producer({"bootstrap.servers": bootstrap, **_dotted(options)})
    placed: list[tuple[int, int]] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        placed.append((message.partition() or 0, message.offset() or 0))

    for value in values:
        while True:
            try:
                producer.produce(topic, value, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    assert left == 0, f"{left} records were not delivered"
    return placed


def consumer(bootstrap: str, **options: str | float) -> Consumer:
    """Not in a group, although librdkafka insists on the name of one."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": "false",
            **_dotted(options),
        }
    )


def read(
    bootstrap: str, topic: str, count: int, *, partition: int = 0, **options: str | float
) -> list[Message]:
    """The first `count` records of a partition."""
    reader = consumer(bootstrap, **options)
    try:
        reader.assign([TopicPartition(topic, partition, 0)])
        found: list[Message] = []
        while len(found) < count:
            messages = reader.consume(min(count - len(found), 10_000), TIMEOUT_S)
            assert messages, f"{len(found)} of {count} records came"
            for message in messages:
                assert message.error() is None, message.error()
            found += messages
        return found
    finally:
        reader.close()


def _dotted(options: Mapping[str, str | float]) -> dict[str, str | float]:
    """`linger_ms` is `linger.ms`."""
    return {name.replace("_", "."): value for name, value in options.items()}
