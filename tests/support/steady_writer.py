"""An application that writes and reads while its cluster is tormented, and what it was told.

    with SteadyWriter(bootstrap, "orders", partitions=6) as writer:
        ...                                     # kill, stop, restart
        writer.wait_resumed(range(6), time.monotonic())
    writer.check()

Its records are numbered per partition and 1 KiB long. The producer is librdkafka's with idempotence
and its other settings as they come. Beside it a consumer follows every partition to its end: what a
reader saw once is compared with what is there in the end.
"""

import contextlib
import threading
import time
from collections.abc import Iterable
from itertools import pairwise
from types import TracebackType
from typing import Final, NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.support.controller_process import until
from tests.support.librdkafka import consumer

RECORD_BYTES: Final = 1024
_DIGITS: Final = 12
_READ_AT_ONCE: Final = 1_000
_AWHILE_S: Final = 120.0


class Acknowledged(NamedTuple):
    number: int
    offset: int
    sent_at: float
    at: float


class SteadyWriter:
    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        partitions: int,
        per_second: int = 1_000,
        **options: str | float,
    ) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._pause_s = partitions / per_second
        self._options = options
        self.acknowledged: list[list[Acknowledged]] = [[] for _ in range(partitions)]
        self.failures: list[str] = []
        """Records that the producer gave up; none, unless something is wrong."""
        self.seen: list[dict[int, int]] = [{} for _ in range(partitions)]
        """By partition: the number at each offset, as the consumer beside saw it."""
        self._sent: list[int] = [0] * partitions
        self._is_over = threading.Event()
        self._broken: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=work.__name__)
            for work in (self._write, self._follow)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged))

    # --- asked while it runs

    def wait_resumed(self, partitions: Iterable[int], since: float) -> float:
        """Seconds from `since` until each of them has acknowledged a record sent after it."""
        return max(self._resumed_at(partition, since) for partition in partitions) - since

    def _resumed_at(self, partition: int, since: float) -> float:
        found: list[float] = []

        def is_acknowledged() -> bool:
            assert not self._broken, self._broken
            told = reversed(self.acknowledged[partition])
            after = [one.at for one in _while_after(told, since) if one.sent_at >= since]
            found[:] = after[-1:]
            return bool(found)

        until(is_acknowledged, f"{self._topic}-{partition} is written to again", _AWHILE_S)
        return found[0]

    def longest_gap(self, partitions: Iterable[int], since: float) -> float:
        """The longest time without an acknowledgement since then, of any of them."""
        longest = 0.0
        for partition in partitions:
            times = [one.at for one in self.acknowledged[partition] if one.at >= since - 1]
            gaps = (later - earlier for earlier, later in pairwise(times))
            longest = max([longest, *gaps])
        return longest

    # --- what must be so in the end

    def check(self) -> None:
        """Nothing lost, nothing twice, everything in order, and nothing else than it was."""
        assert not self._broken, self._broken
        assert self.failures == []
        for partition, told in enumerate(self.acknowledged):
            name = f"{self._topic}-{partition}"
            log = self._read_all(partition)
            numbers = list(log.values())
            twice = len(numbers) - len(set(numbers))
            assert not twice, f"{name}: {twice} duplicates"
            assert numbers == sorted(numbers), f"{name}: not in order"
            lost = [one for one in told if log.get(one.offset) != one.number]
            assert not lost, f"{name}: {len(lost)} of {len(told)} lost or moved: {lost[:5]}"
            changed = {at for at, number in self.seen[partition].items() if log[at] != number}
            assert not changed, f"{name}: what was read at {sorted(changed)[:5]} is other now"

    def _read_all(self, partition: int) -> dict[int, int]:
        """The number at each offset, in the order of offsets."""
        reader = consumer(self._bootstrap)
        try:
            where = TopicPartition(self._topic, partition, 0)
            _, end = reader.get_watermark_offsets(where, timeout=_AWHILE_S)
            reader.assign([where])
            found: dict[int, int] = {}
            give_up_at = time.monotonic() + _AWHILE_S
            while len(found) < end:
                assert time.monotonic() < give_up_at, f"{len(found)} of {end} came"
                for message in reader.consume(_READ_AT_ONCE, 1.0):
                    assert message.error() is None, message.error()
                    found[message.offset() or 0] = _number(message)
            return found
        finally:
            reader.close()

    # --- the two threads

    def _guarded(self, work: "object") -> None:
        assert callable(work)
        try:
            work()
        except BaseException as error:
            self._broken.append(error)
            raise

    def _write(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "enable.idempotence": True, **self._options}
        )
        while not self._is_over.is_set():
            next_at = time.monotonic() + self._pause_s
            for partition in range(len(self.acknowledged)):
                self._send(producer, partition)
            while (left_s := next_at - time.monotonic()) > 0:
                producer.poll(left_s)  # returns with the first news
        left = producer.flush(_AWHILE_S)
        if left:
            self.failures.append(f"{left} records were never told of")

    def _send(self, producer: Producer, partition: int) -> None:
        number, sent_at = self._sent[partition], time.monotonic()

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(f"{number} of {partition}: {error}")
                return
            told = Acknowledged(number, message.offset() or 0, sent_at, time.monotonic())
            self.acknowledged[partition].append(told)

        value = b"%0*d" % (_DIGITS, number)
        # A full queue: the cluster is away, and the next turn tries again.
        with contextlib.suppress(BufferError):
            producer.produce(
                self._topic,
                value.ljust(RECORD_BYTES, b"."),
                partition=partition,
                on_delivery=on_delivery,
            )
            self._sent[partition] += 1

    def _follow(self) -> None:
        reader = consumer(self._bootstrap)
        try:
            places = range(len(self.seen))
            reader.assign([TopicPartition(self._topic, index, 0) for index in places])
            while not self._is_over.is_set():
                for message in reader.consume(_READ_AT_ONCE, 0.2):
                    self._note(message)
        finally:
            reader.close()

    def _note(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            # Brokers are away now and then; that an offset is out of range would be a loss.
            if error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error)
            return
        seen = self.seen[message.partition() or 0]
        offset, number = message.offset() or 0, _number(message)
        assert seen.setdefault(offset, number) == number, (offset, number)


def _while_after(told: Iterable[Acknowledged], since: float) -> Iterable[Acknowledged]:
    """From the newest back to `since`."""
    for one in told:
        if one.at < since:
            return
        yield one


def _number(message: Message) -> int:
    return int((message.value() or b"")[:_DIGITS])
