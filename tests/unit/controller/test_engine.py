"""The engine: decisions, pending state, commits and resignations, over a log that only counts."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from barnabas_controller.engine import Engine
from barnabas_controller.managers.view import ControllerSettings, QuorumFacts, Result, View
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.metadata.record import encode_record
from barnabas_core.ports.link import CallFailed, NotActive
from barnabas_core.raft import NotLeader
from barnabas_core.raft.message import LeaderNews
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.messages.begin_transaction_record import BeginTransactionRecord
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.support.manual_clock import ManualClock


@dataclass
class CountingLog:
    """Takes what is appended, and never commits by itself."""

    end_offset: int = 0
    is_leader: bool = True
    batches: list[list[bytes]] = field(default_factory=list)

    def append(self, epoch: int, batches: Sequence[Sequence[bytes]], now_ms: int) -> int:
        if not self.is_leader:
            raise NotLeader(LeaderNews(epoch + 1, None))
        for batch in batches:
            self.batches.append(list(batch))
            self.end_offset += len(batch)
        return self.end_offset


@dataclass
class Lab:
    engine: Engine
    log: CountingLog

    def activate(self, epoch: int = 1) -> None:
        """The leader's own first record is handed over before it is active."""
        self.control(epoch)
        self.engine.on_active(epoch, self.log.end_offset)

    def control(self, epoch: int) -> None:
        base = self.log.end_offset
        self.log.end_offset += 1
        self.engine.on_batch(CommittedBatch(base, base + 1, epoch, 5, []))

    def submit(self, *records: Message, answer: str = "done") -> "asyncio.Future[str]":
        return self.engine.submit(lambda _: Result(records, answer))

    def commit(self) -> None:
        self.engine.on_committed(self.log.end_offset)

    @property
    def topics(self) -> list[str]:
        return sorted(self.engine.committed.topics.id_by_name)


@pytest.fixture
def lab() -> Lab:
    log = CountingLog()
    engine = Engine(
        ControllerSettings(node_id=1, cluster_id="c"),
        ManualClock(),
        SeededRng(1),
    )
    engine.attach(log, QuorumFacts)
    return Lab(engine, log)


def run(test: Callable[[], None]) -> None:
    async def body() -> None:
        test()

    asyncio.run(body())


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16, b"."))


def value(record: Message) -> memoryview:
    return memoryview(encode_record(record, 0))


def test_a_standby_decides_nothing(lab: Lab) -> None:
    with pytest.raises(NotActive):
        lab.submit(topic("a"))


def test_an_answer_waits_until_its_records_are_committed(lab: Lab) -> None:
    def test() -> None:
        lab.activate()

        answer = lab.submit(topic("a"))

        assert not answer.done()
        assert lab.topics == []
        lab.commit()
        assert answer.result() == "done"
        assert lab.topics == ["a"]

    run(test)


def test_a_decision_sees_what_is_pending(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.submit(topic("a"))

        seen: list[str] = []

        def decide(view: View) -> Result[None]:
            seen.extend(view.image.topics.id_by_name)
            return Result((), None)

        lab.engine.submit(decide)
        assert seen == ["a"]

    run(test)


def test_a_read_waits_for_the_pending_records_it_saw(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.submit(topic("a"))

        read = lab.submit(answer="read")

        assert not read.done()
        lab.commit()
        assert read.result() == "read"

    run(test)


def test_a_read_with_nothing_pending_is_answered_at_once(lab: Lab) -> None:
    def test() -> None:
        lab.activate()

        assert lab.submit(answer="read").done()

    run(test)


def test_resigning_drops_what_is_pending_and_says_so(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.submit(topic("kept"))
        lab.commit()
        answer = lab.submit(topic("dropped"))

        lab.engine.on_inactive()

        assert isinstance(answer.exception(), CallFailed)
        assert lab.topics == ["kept"]
        assert sorted(lab.engine.latest.topics.id_by_name) == ["kept"]

    run(test)


def test_who_waits_only_to_read_is_told_that_nothing_was_done(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        changing = lab.submit(topic("dropped"))
        reading = lab.submit(answer="read")

        lab.engine.on_inactive()

        assert isinstance(changing.exception(), CallFailed)
        assert isinstance(reading.exception(), NotActive)

    run(test)


def test_what_was_dropped_comes_back_if_another_leader_commits_it(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.submit(topic("kept"))
        lab.commit()
        at = lab.log.end_offset
        lab.submit(topic("late")).add_done_callback(lambda done: done.exception())
        lab.engine.on_inactive()

        lab.engine.on_batch(CommittedBatch(at, at + 1, 1, 7, [value(topic("late"))]))

        assert lab.topics == ["kept", "late"]

    run(test)


def test_records_of_the_quorum_between_ours_do_not_shift_offsets(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.log.end_offset += 2  # a change of voters, say
        lab.submit(topic("a"))
        lab.log.end_offset += 1
        lab.commit()
        at = lab.log.end_offset
        lab.engine.on_inactive()

        lab.engine.on_batch(CommittedBatch(at, at + 1, 2, 7, [value(topic("b"))]))

        assert lab.topics == ["a", "b"]
        assert lab.engine.committed.provenance.offset == at

    run(test)


def test_a_decision_that_fails_changes_nothing(lab: Lab) -> None:
    def test() -> None:
        lab.activate()

        def decide(view: View) -> Result[None]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            lab.engine.submit(decide)
        assert lab.log.batches == []

    run(test)


def test_a_record_that_does_not_fit_never_reaches_the_log(lab: Lab) -> None:
    def test() -> None:
        from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord

        lab.activate()

        with pytest.raises(AssertionError):
            lab.submit(topic("a"), RemoveTopicRecord(topic_id=b"?" * 16))
        assert lab.log.batches == []
        assert lab.engine.latest.topics.id_by_name == {}

    run(test)


def test_a_leader_that_lost_its_place_unawares_decides_nothing(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.log.is_leader = False

        with pytest.raises(NotActive):
            lab.submit(topic("a"))
        assert lab.engine.latest is lab.engine.committed

    run(test)


def test_a_decision_is_one_batch(lab: Lab) -> None:
    def test() -> None:
        lab.activate()

        lab.submit(topic("a"), topic("b"), NoOpRecord())

        assert [len(batch) for batch in lab.log.batches] == [3]

    run(test)


def test_a_transaction_left_open_by_another_controller_is_aborted(lab: Lab) -> None:
    def test() -> None:
        begin = CommittedBatch(0, 2, 1, 5, [value(BeginTransactionRecord()), value(topic("half"))])
        lab.log.end_offset = 2
        lab.engine.on_batch(begin)

        lab.activate(epoch=2)

        assert len(lab.log.batches) == 1
        lab.submit(topic("a"))
        lab.commit()
        assert lab.topics == ["a"]

    run(test)


def test_a_snapshot_holds_what_is_committed_and_no_more(lab: Lab) -> None:
    def test() -> None:
        lab.activate()
        lab.submit(topic("a"))
        lab.commit()
        end_offset = lab.log.end_offset
        lab.submit(topic("pending"))

        source = lab.engine.begin_snapshot()

        assert source is not None
        assert source.end_offset == end_offset
        other = Engine(lab.engine.settings, ManualClock(), SeededRng(1))
        other.on_snapshot_begin(SnapshotId(end_offset, 1))
        for number, batch in enumerate(source.batches):
            values = [memoryview(one) for one in batch]
            other.on_batch(CommittedBatch(number, number + len(values), 1, 5, values))
        other.on_snapshot_end()
        assert list(other.committed.topics.id_by_name) == ["a"]

    run(test)


def test_nothing_replayed_is_nothing_to_take_a_snapshot_of(lab: Lab) -> None:
    assert lab.engine.begin_snapshot() is None
    assert lab.engine.committed is EMPTY_IMAGE
