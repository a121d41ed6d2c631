"""`ProducerState` against a model that remembers the whole log."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_core.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from barnabas_core.log.producers.producer_state import (
    AppendOrigin,
    CompletedTransaction,
    Duplicate,
    ProducerError,
    ProducerState,
)
from tests.support.producer_history import SEQUENCE_COUNT, Batch, ProducerHistory

EXPIRATION_MS = 50


@dataclass(frozen=True)
class Write:
    """What a producer tries: `sequence` counts from the one that the log expects."""

    producer_id: int
    epoch: int
    sequence: int
    count: int
    is_transactional: bool
    origin: AppendOrigin


@dataclass(frozen=True)
class EndTransaction:
    producer_id: int
    epoch: int
    is_commit: bool
    coordinator_epoch: int
    version: int


@dataclass(frozen=True)
class AdvanceHighWatermark:
    by: int


@dataclass(frozen=True)
class Expire:
    pass


@dataclass(frozen=True)
class Restart:
    """Load the snapshot of `back` batches ago and replay the rest."""

    back: int


Step = Write | EndTransaction | AdvanceHighWatermark | Expire | Restart

producer_ids = st.integers(1, 3)
epochs = st.integers(0, 2)
steps = st.lists(
    st.one_of(
        st.builds(
            Write,
            producer_ids,
            epochs,
            st.integers(-4, 2),
            st.integers(1, 3),
            st.booleans(),
            st.sampled_from([AppendOrigin.CLIENT] * 3 + [AppendOrigin.COORDINATOR]),
        ),
        # What a producer in good order does, or most runs would consist of refusals.
        st.builds(
            Write,
            producer_ids,
            st.just(0),
            st.just(0),
            st.integers(1, 2),
            st.just(True),
            st.just(AppendOrigin.CLIENT),
        ),
        st.builds(
            EndTransaction,
            producer_ids,
            epochs,
            st.booleans(),
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        st.builds(AdvanceHighWatermark, st.integers(1, 4)),
        st.just(Expire()),
        st.builds(Restart, st.integers(0, 6)),
    ),
    min_size=10,
    max_size=80,
)


class Comparison:
    def __init__(self, first_sequence: int) -> None:
        self.state = ProducerState()
        self.history = ProducerHistory()
        self.first_sequence = first_sequence
        self.high_watermark = 0
        self.now_ms = 0
        self.snapshots: list[bytes] = [b""]

    def batch_of(self, write: Write) -> Batch:
        sequence = -1
        if write.origin is AppendOrigin.CLIENT:
            retained = self.history.retained(write.producer_id)
            last = retained[-1][1].sequences[1] if retained else self.first_sequence - 1
            sequence = (last + 1 + write.sequence) % SEQUENCE_COUNT
        return Batch(
            write.producer_id,
            write.epoch,
            sequence,
            write.count,
            write.is_transactional,
            timestamp_ms=self.now_ms,
        )

    def append(self, batch: Batch, origin: AppendOrigin) -> None:
        before = self.state.snapshot(), self.state.first_unstable_offset()
        append = self.state.begin(origin)
        outcome: Duplicate | type[ProducerError] | None
        try:
            outcome = append.check_and_add(
                batch.header(),
                self.history.end_offset,
                control=batch.control,
                transaction_version=batch.transaction_version,
            )
        except ProducerError as error:
            outcome = type(error)
        assert (self.state.snapshot(), self.state.first_unstable_offset()) == before
        assert outcome == self.history.decide(batch, origin)
        if outcome is None:
            ongoing_before = self.history.ongoing(batch.producer_id)
            offset = self.history.append(batch)
            self.check_completed(self.state.apply(append), batch, ongoing_before, offset)
            self.snapshots.append(self.state.snapshot())

    def check_completed(
        self,
        completed: list[CompletedTransaction],
        batch: Batch,
        first_offset: int | None,
        offset: int,
    ) -> None:
        if not batch.is_marker or first_offset is None:
            assert completed == []
            return
        others = [t.first_offset for t in self.history.transactions() if t.marker_offset is None]
        assert completed == [
            CompletedTransaction(
                batch.producer_id,
                first_offset,
                offset,
                is_aborted=not batch.is_commit,
                last_stable_offset=min(others, default=offset + 1),
            )
        ]

    def run(self, step: Step) -> None:
        self.now_ms += 3
        match step:
            case Write():
                self.append(self.batch_of(step), step.origin)
            case EndTransaction():
                batch = Batch(
                    step.producer_id,
                    step.epoch,
                    timestamp_ms=self.now_ms,
                    is_commit=step.is_commit,
                    coordinator_epoch=step.coordinator_epoch,
                    transaction_version=step.version,
                )
                self.append(batch, AppendOrigin.COORDINATOR)
            case AdvanceHighWatermark():
                end = self.history.end_offset
                self.high_watermark = min(end, self.high_watermark + step.by)
                self.state.on_high_watermark(self.high_watermark)
            case Expire():
                self.state.expire(self.now_ms, EXPIRATION_MS)
                self.history.expire(self.now_ms, EXPIRATION_MS)
                # A snapshot from before would bring it back, as it would in a real log.
                self.snapshots = [self.state.snapshot()] * len(self.snapshots)
            case Restart():
                self.restart(step.back)

    def restart(self, back: int) -> None:
        at = max(0, len(self.snapshots) - 1 - back)
        if len(set(self.snapshots)) < len(self.snapshots):
            at = len(self.snapshots) - 1
        restored = ProducerState()
        file = encode_snapshot(self.snapshots[at])
        restored.load(decode_snapshot(file), self.now_ms, expiration_ms=2**60)
        for offset, batch in self.history.log[at:]:
            restored.replay(batch.header(), offset, control=batch.control)
        restored.on_high_watermark(self.high_watermark)
        assert sorted(restored.entries()) == sorted(self.state.entries())
        assert restored.first_undecided_offset() == self.state.first_undecided_offset()
        for producer_id in self.history.producer_ids():
            # A snapshot knows one timestamp per producer, and an end marker's replaces a batch's.
            replayed = [batch[:3] for batch in restored.batches(producer_id)]
            retained = [batch[:3] for batch in self.state.batches(producer_id)]
            assert replayed == retained[len(retained) - len(replayed) :]

    def check(self) -> None:
        assert self.state.first_unstable_offset() == self.history.first_unstable(
            self.high_watermark
        )
        known = sorted(entry.producer_id for entry in self.state.entries())
        assert known == self.history.producer_ids()
        for producer_id in known:
            entry = self.state.entry(producer_id)
            assert entry is not None
            _, last = self.history.of(producer_id)[-1]
            assert entry.epoch == last.epoch
            assert entry.timestamp_ms == last.timestamp_ms
            assert entry.coordinator_epoch == self.history.coordinator_epoch(producer_id)
            ongoing = self.history.ongoing(producer_id)
            assert entry.transaction_first_offset == (-1 if ongoing is None else ongoing)
            retained = [
                (batch.sequences, offset, offset + batch.count - 1, batch.timestamp_ms)
                for offset, batch in self.history.retained(producer_id)
            ]
            assert retained == [
                (
                    (batch.first_sequence if batch.last_sequence >= 0 else -1, batch.last_sequence),
                    batch.first_offset,
                    batch.last_offset,
                    batch.timestamp_ms,
                )
                for batch in self.state.batches(producer_id)
            ]


@settings(max_examples=max(300, settings().max_examples))
@given(steps=steps, first_sequence=st.sampled_from([0, 7, SEQUENCE_COUNT - 3]))
def test_it_decides_like_one_who_remembers_everything(
    steps: list[Step], first_sequence: int
) -> None:
    comparison = Comparison(first_sequence)

    for step in steps:
        comparison.run(step)
        comparison.check()
