"""Decisions become batches at known offsets, and answers that wait for the right ones."""

from typing import Any

from barnabas_coordinator.shard.decision import (
    Answer,
    BatchForm,
    Context,
    Decision,
    Env,
    Producer,
    Record,
    Request,
)
from barnabas_coordinator.shard.record_codec import (
    GROUP_KINDS,
    decode_record,
    encode_record,
    kinds_of,
)
from barnabas_coordinator.shard.shard import Shard
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import split_batches
from barnabas_core.records.builder import build_batch, empty_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import ControlType, EndTransaction, end_transaction_batch
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from barnabas_core.wire.schema import Message

BYTES_MAX = 4_000
ENV = Env(1_000, 1_000, EMPTY_IMAGE, SeededRng(1))


class Scribe:
    """A machine that writes as many records as a request's generation says, about its group."""

    def __init__(self) -> None:
        self.replayed: list[tuple[str, int]] = []
        self.pending: list[Producer] = []
        self.ended: list[tuple[Producer, bool]] = []
        self.producers: list[Producer] = []
        self.batch_form = BatchForm(BYTES_MAX)

    def replay(self, key: Message, value: Message | None, env: Env) -> None:
        assert isinstance(key, OffsetCommitKey)
        assert isinstance(value, OffsetCommitValue)
        self.replayed.append((key.group, value.offset))

    def load(self, key: Buffer, value: Buffer | None, env: Env) -> None:
        record = decode_record(kinds_of(GROUP_KINDS), key, value)
        self.replay(record.key, record.value, env)

    def load_pending(self, key: Buffer, value: Buffer | None, producer: Producer, env: Env) -> None:
        self.pending.append(producer)

    def replay_pending(
        self, key: Message, value: Message | None, producer: Producer, env: Env
    ) -> None:
        self.pending.append(producer)

    def on_producer(self, producer: Producer, env: Env) -> None:
        self.producers.append(producer)

    def on_marker(self, producer: Producer, marker: EndTransaction, env: Env) -> None:
        self.ended.append((producer, marker.is_commit))

    def would_write(self, request: Request, env: Env) -> bool:
        message: Any = request.message
        return bool(message.generation_id)

    def decide(self, request: Request, env: Env) -> list[Decision]:
        message: Any = request.message
        if message.member_id:
            return [self._in_transaction(request, message)]
        records = [
            Record(OffsetCommitKey(message.group_id, "t", 0), OffsetCommitValue(offset=number))
            for number in range(message.generation_id)
        ]
        touched = [message.group_id] if message.group_id else []
        return [Decision(touched, records, [Answer(request.call, HeartbeatResponse())])]

    def _in_transaction(self, request: Request, message: Any) -> Decision:  # noqa: ANN401
        """`member_id` names a producer; no records end its transaction."""
        producer = Producer(int(message.member_id), 3)
        decision = Decision([message.group_id], producer=producer)
        if message.generation_id:
            decision.records = [
                Record(OffsetCommitKey(message.group_id, "t", it), OffsetCommitValue(offset=it))
                for it in range(message.generation_id)
            ]
        else:
            decision.marker = EndTransaction(ControlType.COMMIT, 9)
        decision.answers = [Answer(request.call, HeartbeatResponse())]
        return decision

    def on_loaded(self, env: Env) -> list[Decision]:
        return []

    def on_writable(self, env: Env) -> None:
        pass

    def next_deadline_ms(self) -> int | None:
        return None

    def on_timer(self, env: Env) -> list[Decision]:
        return []

    def on_image(self, before: Image, env: Env) -> list[Decision]:
        return []

    def on_done(self, key: str, outcome: object, env: Env) -> list[Decision]:
        return []

    def on_call_lost(self, call: int) -> None:
        pass


def request(call: int, group: str, records: int, producer: str = "") -> Request:
    return Request(call, 12, HeartbeatRequest(group, records, producer), Context(0))


def shard(log_end: int = 0) -> Shard:
    return Shard(Scribe(), log_end)


def replayed(of: Shard) -> list[tuple[str, int]]:
    assert isinstance(of.machine, Scribe)
    return of.machine.replayed


def test_a_turn_is_one_batch_at_the_end_of_the_log() -> None:
    one = shard(40)

    turn = one.decide([request(1, "a", 2), request(2, "b", 1)], ENV)

    headers = [header for _, header in split_batches(turn.batch)]
    assert turn.base_offset == 40
    assert [(it.base_offset, it.last_offset) for it in headers] == [(40, 42)]
    assert one.log_end == 43


def test_records_are_state_as_soon_as_they_are_decided() -> None:
    one = shard()
    one.decide([request(1, "a", 2)], ENV)

    assert replayed(one) == [("a", 0), ("a", 1)]


def test_an_answer_waits_for_the_last_record_that_touched_what_it_tells_of() -> None:
    one = shard()
    turn = one.decide([request(1, "a", 2), request(2, "b", 1), request(3, "a", 0)], ENV)

    assert [due.depends_on for due in turn.due] == [1, 2, 1]


def test_an_answer_about_everything_waits_for_everything() -> None:
    one = shard()
    turn = one.decide([request(1, "a", 2), request(2, "b", 1), request(3, "", 0)], ENV)

    assert turn.due[-1].depends_on == 2


def test_an_answer_about_what_is_committed_waits_for_nothing() -> None:
    one = shard()
    one.decide([request(1, "a", 2)], ENV)
    one.on_committed(2)

    assert one.decide([request(2, "a", 0)], ENV).due[0].depends_on == -1
    assert one.decide([request(3, "never heard of", 0)], ENV).due[0].depends_on == -1


def test_what_was_loaded_and_may_not_be_committed_is_waited_for() -> None:
    """A reader must not be told of an offset that the next leader may not have."""
    before = shard()
    batch = before.decide([request(1, "a", 3)], ENV).batch
    one = shard(3)
    one.on_committed(1)
    list(one.load(batch, ENV))

    assert replayed(one) == replayed(before)
    assert one.decide([request(2, "a", 0)], ENV).due[0].depends_on == 2
    one.on_committed(3)
    assert one.decide([request(3, "a", 0)], ENV).due[0].depends_on == -1


def test_a_batch_that_comes_twice_is_replayed_once() -> None:
    batch = shard().decide([request(1, "a", 3)], ENV).batch
    one = shard(3)
    list(one.load(batch, ENV))
    list(one.load(batch, ENV))

    assert len(replayed(one)) == 3


def test_what_a_transaction_wrote_is_pending_until_its_marker() -> None:
    record = encode_record(Record(OffsetCommitKey("a", "t", 0), OffsetCommitValue(offset=1)))
    batch = build_batch([record], producer_id=7, producer_epoch=2, is_transactional=True)
    marker = end_transaction_batch(
        commit=True, coordinator_epoch=0, producer_id=7, producer_epoch=2, timestamp_ms=0
    )
    marker[:8] = (1).to_bytes(8)
    one = shard(2)
    list(one.load(bytes(batch + marker), ENV))

    assert isinstance(one.machine, Scribe)
    assert one.machine.pending == [Producer(7, 2)]
    assert one.machine.ended == [(Producer(7, 2), True)]
    assert replayed(one) == []


def test_each_run_of_one_producer_is_a_batch_and_a_marker_is_one_too() -> None:
    one = shard(40)

    turn = one.decide(
        [
            request(1, "a", 2),
            request(2, "b", 1),
            request(3, "a", 2, producer="7"),
            request(4, "b", 1, producer="7"),
            request(5, "a", 1, producer="8"),
            request(6, "a", 0, producer="7"),
            request(7, "c", 1),
        ],
        ENV,
    )

    headers = [header for _, header in split_batches(turn.batch)]
    assert [(it.base_offset, it.last_offset, it.producer_id) for it in headers] == [
        (40, 42, -1),
        (43, 45, 7),
        (46, 46, 8),
        (47, 47, 7),
        (48, 48, -1),
    ]
    assert [(it.is_transactional, it.is_control) for it in headers] == [
        (False, False),
        (True, False),
        (True, False),
        (True, True),
        (False, False),
    ]
    assert [it.producer_epoch for it in headers[1:4]] == [3, 3, 3]
    assert [due.depends_on for due in turn.due] == [41, 42, 44, 45, 46, 47, 48]
    assert one.log_end == 49


def test_what_is_decided_in_a_transaction_is_loaded_as_it_was_replayed() -> None:
    before = shard()
    asked = [request(1, "a", 2, producer="7"), request(2, "b", 3), request(3, "a", 0, producer="7")]
    batches = before.decide(asked, ENV).batch
    one = shard(6)
    list(one.load(batches, ENV))

    assert isinstance(before.machine, Scribe)
    assert isinstance(one.machine, Scribe)
    assert one.machine.pending == before.machine.pending == [Producer(7, 3)] * 2
    assert one.machine.ended == before.machine.ended == [(Producer(7, 3), True)]
    assert replayed(one) == replayed(before)
    assert one.machine.producers == [Producer(7, 3)] * 2


def test_a_producer_is_seen_though_compaction_left_nothing_of_its_batch() -> None:
    batch = build_batch([(b"key", None)], producer_id=7, producer_epoch=2, is_transactional=True)
    ((_, header),) = split_batches(batch)
    one = shard(1)
    list(one.load(bytes(empty_batch(header)), ENV))

    assert isinstance(one.machine, Scribe)
    assert one.machine.producers == [Producer(7, 2)]


def test_no_batch_is_larger_than_the_log_takes_and_no_decision_is_split() -> None:
    one = shard()
    count = 30

    turn = one.decide([request(number, "a", count) for number in range(8)], ENV)

    headers = [header for _, header in split_batches(turn.batch)]
    assert len(headers) > 1
    assert max(header.size_bytes for header in headers) <= BYTES_MAX
    assert [header.record_count % count for header in headers] == [0] * len(headers)
    assert sum(header.record_count for header in headers) == 8 * count


def test_batches_are_compressed_if_that_is_wanted() -> None:
    one = shard()
    assert isinstance(one.machine, Scribe)
    one.machine.batch_form = BatchForm(BYTES_MAX, Compression.ZSTD)

    batch = one.decide([request(1, "a", 5)], ENV).batch

    assert [it.compression for _, it in split_batches(batch)] == [Compression.ZSTD]
    again = shard(5)
    list(again.load(batch, ENV))
    assert replayed(again) == replayed(one)
