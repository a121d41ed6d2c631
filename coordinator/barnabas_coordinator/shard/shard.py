"""One shard between its machine and the log: decisions become batches and answers with offsets.

While a session is open nobody else appends to the shard, so every offset is known ahead. Records
are replayed as soon as they are decided; their answers name the offset that must be committed
before they may be given: the last one that touched what they tell of. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from barnabas_coordinator.shard.batch_runs import BatchRuns
from barnabas_coordinator.shard.decision import (
    Answer,
    Decision,
    Env,
    Job,
    Machine,
    Producer,
    Request,
)
from barnabas_coordinator.shard.record_codec import UnknownRecord, encode_record
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import BatchHeader, split_batches
from barnabas_core.records.control import EndTransaction, end_transaction_in
from barnabas_core.records.record import iter_records
from barnabas_core.wire.error import DecodeError

NO_OFFSET: Final = -1


class Due(NamedTuple):
    """An answer, and the offset that it waits for."""

    answer: Answer
    depends_on: int


@dataclass(slots=True)
class Turn:
    """All that a turn of decisions comes to: one append, many answers."""

    base_offset: int
    batch: Buffer = b""
    """Or several of them: see `BatchRuns`."""
    due: list[Due] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.batch or self.due)


class Shard:
    def __init__(self, machine: Machine, log_end: int) -> None:
        self.machine = machine
        self.log_end = log_end
        """Where the next batch goes."""
        self._loaded_to = 0
        self._last_loaded = NO_OFFSET
        """Of what was loaded and may not be committed yet, which is not known by key."""
        self._last_offsets: dict[str, int] = {}
        self._last_offset = NO_OFFSET
        self._high_watermark = 0
        self.unknown_count = 0
        """Records that were left alone."""

    # --- loading

    def load(self, batches: Buffer, env: Env) -> Iterable[None]:
        """Replay what the log holds; gives way after each batch.

        What lies above the high watermark is replayed, too: it may yet be committed, so answers
        about it wait.
        """
        for position, header in split_batches(batches, allow_partial_tail=True):
            if header.last_offset < self._loaded_to:
                continue
            self._loaded_to = header.last_offset + 1
            self._load_batch(batches, position, header, env)
            self._last_loaded = self._last_offset = header.last_offset
            yield

    def _load_batch(self, batches: Buffer, position: int, header: BatchHeader, env: Env) -> None:
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.producer_id >= 0:
            self.machine.on_producer(producer, env)
        if header.is_control:
            marker = end_transaction_in(batches, position, header)
            if marker is not None:
                self.machine.on_marker(producer, marker, env)
            return
        for record in iter_records(batches, position, header=header):
            if record.key is None:
                continue
            try:
                if header.is_transactional:
                    self.machine.load_pending(record.key, record.value, producer, env)
                else:
                    self.machine.load(record.key, record.value, env)
            except (UnknownRecord, DecodeError):
                self.unknown_count += 1

    def on_committed(self, high_watermark: int) -> None:
        self._high_watermark = max(self._high_watermark, high_watermark)
        if len(self._last_offsets) > 10_000:
            self._last_offsets = {
                key: offset
                for key, offset in self._last_offsets.items()
                if offset >= self._high_watermark
            }

    # --- deciding

    def on_loaded(self, env: Env) -> Turn:
        return self.turn_of(self.machine.on_loaded(env), env)

    def decide(self, requests: Sequence[Request], env: Env) -> Turn:
        turn, runs = Turn(self.log_end), self._runs(env)
        for request in requests:
            self._take(self.machine.decide(request, env), env, turn, runs)
        turn.batch = runs.build()
        return turn

    def on_timer(self, env: Env) -> Turn:
        return self.turn_of(self.machine.on_timer(env), env)

    def on_done(self, job: Job, outcome: object, env: Env) -> Turn:
        return self.turn_of(self.machine.on_done(job.key, outcome, env), env)

    def turn_of(self, decisions: list[Decision], env: Env) -> Turn:
        turn, runs = Turn(self.log_end), self._runs(env)
        self._take(decisions, env, turn, runs)
        turn.batch = runs.build()
        return turn

    def _runs(self, env: Env) -> BatchRuns:
        return BatchRuns(self.log_end, env.now_ms, self.machine.batch_form)

    def _take(self, decisions: list[Decision], env: Env, turn: Turn, runs: BatchRuns) -> None:
        for decision in decisions:
            if decision.marker is not None:
                self._end_transaction(decision, decision.marker, env, runs)
            elif decision.records:
                self._write(decision, env, runs)
            turn.jobs += decision.jobs
            depends_on = self._depends_on(decision.touched)
            turn.due += [Due(answer, depends_on) for answer in decision.answers]

    def _write(self, decision: Decision, env: Env, runs: BatchRuns) -> None:
        producer = decision.producer
        runs.add(producer, [encode_record(record) for record in decision.records])
        self._note(decision.touched, runs)
        for key, value in decision.records:
            if producer is None:
                self.machine.replay(key, value, env)
            else:
                self.machine.replay_pending(key, value, producer, env)

    def _end_transaction(
        self, decision: Decision, marker: EndTransaction, env: Env, runs: BatchRuns
    ) -> None:
        assert decision.producer is not None, "a marker is of a producer"
        runs.add_marker(decision.producer, marker)
        self._note(decision.touched, runs)
        self.machine.on_marker(decision.producer, marker, env)

    def _note(self, touched: Sequence[str], runs: BatchRuns) -> None:
        self.log_end = runs.end_offset
        self._last_offset = self.log_end - 1
        for key in touched:
            self._last_offsets[key] = self._last_offset

    def _depends_on(self, touched: Sequence[str]) -> int:
        if not touched:
            last = self._last_offset
        else:
            known = (self._last_offsets.get(key, NO_OFFSET) for key in touched)
            last = max(self._last_loaded, *known)
        return last if last >= self._high_watermark else NO_OFFSET
