"""A shard of a coordinator without a broker: act, look at records and answers, act again.

Every record is encoded and decoded on its way into the state, as it would be by way of the log, and
`check_replay` replays all of them into an empty machine: what is durable must be equal.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barnabas_coordinator.shard.decision import (
    Context,
    Decision,
    Env,
    Job,
    Machine,
    Record,
    Request,
)
from barnabas_coordinator.shard.record_codec import (
    GROUP_KINDS,
    Kinds,
    decode_record,
    encode_record,
    kinds_of,
)
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.schema import Message

M = TypeVar("M", bound=Machine)
R = TypeVar("R", bound=Message)


@dataclass(slots=True)
class ShardLab(Generic[M]):
    make: Callable[[], M]
    durable: Callable[[M], object]
    kinds: Kinds = field(default_factory=lambda: kinds_of(GROUP_KINDS))
    image: Image = EMPTY_IMAGE
    now_ms: int = 1_800_000_000_000
    monotonic_ms: int = 1_000
    seed: int = 1
    machine: M = field(init=False)
    log: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    answers: dict[int, Message] = field(default_factory=dict)
    """By call; those that were given so far."""
    new_records: list[Record] = field(default_factory=list)
    """Of the last act."""
    jobs: list[Job] = field(default_factory=list)
    """Asked for, not done yet: `do_jobs`."""
    calls: int = 0

    def __post_init__(self) -> None:
        self.machine = self.make()
        self._rng = SeededRng(self.seed)

    _rng: SeededRng = field(init=False)

    @property
    def env(self) -> Env:
        return Env(self.now_ms, self.monotonic_ms, self.image, self._rng)

    # --- acting

    def send(self, message: Message, version: int | None = None, **context: str) -> int:
        """The number of the call; its answer may come later."""
        assert message.KEY is not None
        self.calls += 1
        highest = type(message).MAX_VERSION if version is None else version
        request = Request(self.calls, message.KEY, message, Context(highest, **context))
        would_write = self.machine.would_write(request, self.env)
        job_count = len(self.jobs)
        self._take(self.machine.decide(request, self.env))
        if not would_write:
            assert not self.new_records, "it was said to write nothing"
            assert len(self.jobs) == job_count, "what comes of a job is written"
            assert not self.is_waiting(self.calls), "it waits for what is to be written"
        return self.calls

    def ask(self, message: Message, answer: type[R], version: int | None = None, **who: str) -> R:
        """Where the answer comes at once."""
        found = self.answers.pop(self.send(message, version, **who))
        assert isinstance(found, answer)
        return found

    def answer(self, call: int, kind: type[R]) -> R:
        """To a call that waited."""
        found = self.answers.pop(call)
        assert isinstance(found, kind)
        return found

    def is_waiting(self, call: int) -> bool:
        return call not in self.answers

    def pass_time(self, ms: int) -> None:
        """Deadlines on the way come true in their order, each at its time."""
        self.new_records = []
        end_ms = self.monotonic_ms + ms
        while (at_ms := self.machine.next_deadline_ms()) is not None and at_ms <= end_ms:
            self._move_to(max(at_ms, self.monotonic_ms))
            self._take(self.machine.on_timer(self.env), keep=True)
        self._move_to(end_ms)

    def _move_to(self, monotonic_ms: int) -> None:
        self.now_ms += monotonic_ms - self.monotonic_ms
        self.monotonic_ms = monotonic_ms

    def set_image(self, image: Image) -> None:
        before, self.image = self.image, image
        self._take(self.machine.on_image(before, self.env))

    def do_jobs(self) -> None:
        """All that are waiting, and those that they bring about."""
        while self.jobs:
            job = self.jobs.pop(0)
            self._take(self.machine.on_done(job.key, job.run(), self.env))

    def _take(self, decisions: list[Decision], *, keep: bool = False) -> None:
        if not keep:
            self.new_records = []
        for decision in decisions:
            for record in decision.records:
                self._append(record)
            for call, message in decision.answers:
                assert call not in self.answers, f"call {call} is answered twice"
                self.answers[call] = message
            self.jobs += decision.jobs

    def _append(self, record: Record) -> None:
        self.new_records.append(record)
        self.log.append(encode_record(record))
        self._replay(self.machine, *self.log[-1])

    def _replay(self, machine: M, key: bytes, value: bytes | None) -> None:
        record = decode_record(self.kinds, key, value)
        machine.replay(record.key, record.value, self.env)

    # --- loading

    def loaded(self) -> M:
        """Another machine, from the log alone."""
        machine = self.make()
        for key, value in self.log:
            self._replay(machine, key, value)
        return machine

    def check_replay(self) -> None:
        assert self.durable(self.loaded()) == self.durable(self.machine)

    def reload(self) -> None:
        """The coordinator died: another one loads the shard and goes on."""
        self.machine = self.loaded()
        self.answers.clear()
        self.jobs.clear()
        self._take(self.machine.on_loaded(self.env))
