"""What a coordinator decides: records to be kept, answers to be given, work to be done elsewhere.

Decision code is pure. It reads the state of its shard and the `Env`, and returns a `Decision`; the
records of it are replayed into the state at once, and appended by the broker that owns the shard.
An append is refused only when the session is over, and then the state is thrown away with it. So
durable state changes by `replay` alone; what is not durable (who waits for what, deadlines) may be
changed by whoever decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from barnabas_core.metadata.image import Image
from barnabas_core.ports import Rng
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import EndTransaction
from barnabas_core.wire.schema import Message


class Context(NamedTuple):
    """Who asks, as the broker knows it: authenticated, and allowed to."""

    api_version: int
    client_id: str = ""
    client_host: str = ""
    principal: str = "User:ANONYMOUS"
    listener: str = ""


class Request(NamedTuple):
    """`call` names it: whoever answers says which one it is that is answered."""

    call: int
    api_key: int
    message: Message
    context: Context


class Env(NamedTuple):
    """What a decision may look at besides the state."""

    now_ms: int
    """Wall time: for what is written down."""
    monotonic_ms: int
    """For deadlines."""
    image: Image
    rng: Rng


class Producer(NamedTuple):
    id: int
    epoch: int


class BatchForm(NamedTuple):
    """How batches are made."""

    bytes_max: int
    """Many decisions share a batch while they fit; that one decision fits is for it to see to."""
    compression: Compression = Compression.NONE


class Record(NamedTuple):
    """Messages of the kinds coordinator-key and coordinator-value; no value deletes the key."""

    key: Message
    value: Message | None


class Answer(NamedTuple):
    call: int
    message: Message


class Job(NamedTuple):
    """Work that takes long (an assignor, a regular expression): done elsewhere, then `on_done`."""

    key: str
    """Of whom: handed back with the outcome, which may come too late to be of use."""
    run: Callable[[], Any]
    """Pure, of what it was given: it runs while the state goes on changing."""


@dataclass(slots=True)
class Decision:
    touched: Sequence[str]
    """Whose state it read or changed (group ids, transactional ids): its answers wait until the
    last record of each of them is committed. Empty: of everything there is."""
    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    producer: Producer | None = None
    """Whose transaction the records belong to: they are written in batches of that producer, and
    count from its marker on."""
    marker: EndTransaction | None = None
    """In place of records: the transaction of `producer` ends."""


class Machine(Protocol):
    """One shard of one kind of coordinator."""

    @property
    def batch_form(self) -> BatchForm: ...

    def replay(self, key: Message, value: Message | None, env: Env) -> None:
        """Take over a record: the only thing that changes durable state."""
        ...

    def load(self, key: Buffer, value: Buffer | None, env: Env) -> None:
        """The same from bytes, as they lie in the log; `UnknownRecord` or `DecodeError`."""
        ...

    def replay_pending(
        self, key: Message, value: Message | None, producer: Producer, env: Env
    ) -> None:
        """Take over a record of a transaction that is not known to have ended."""
        ...

    def load_pending(self, key: Buffer, value: Buffer | None, producer: Producer, env: Env) -> None:
        """The same from bytes."""
        ...

    def on_producer(self, producer: Producer, env: Env) -> None:
        """A batch of that producer, loaded, whatever compaction has left of it: the log will take
        nothing of an older epoch."""
        ...

    def on_marker(self, producer: Producer, marker: EndTransaction, env: Env) -> None:
        """Take over the end of that producer's transaction."""
        ...

    def on_loaded(self, env: Env) -> list[Decision]:
        """All records are replayed: arm every deadline with its full length."""
        ...

    def on_writable(self, env: Env) -> None:
        """Records can be written again: whoever was refused meanwhile has its full time."""
        ...

    def would_write(self, request: Request, env: Env) -> bool:
        """Might a decision about it have records? Asked while none can be written: it changes
        nothing."""
        ...

    def decide(self, request: Request, env: Env) -> list[Decision]:
        """A request may be answered later, by another decision; one decision may answer many."""
        ...

    def next_deadline_ms(self) -> int | None:
        """In monotonic time."""
        ...

    def on_timer(self, env: Env) -> list[Decision]:
        """Deadlines may have passed."""
        ...

    def on_image(self, before: Image, env: Env) -> list[Decision]:
        """The cluster's metadata changed: topics came, went or grew, or configs changed."""
        ...

    def on_done(self, key: str, outcome: Any, env: Env) -> list[Decision]:  # noqa: ANN401
        """A job has ended."""
        ...

    def on_call_lost(self, call: int) -> None:
        """Nobody waits for the answer to that request any more; what was decided stands."""
        ...
