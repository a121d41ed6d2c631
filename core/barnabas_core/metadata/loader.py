"""From committed batches and snapshots to images: the same in brokers, coordinators, controllers.

A loader publishes `(delta, image)` after each batch, or, if told to wait, when `publish` is called
with more than one batch replayed. The image it publishes always ends with a batch and never within
a metadata transaction (KIP-868): the records between Begin and End are held back until the End and
dropped by an Abort, so a snapshot of a published image never cuts one either.

A snapshot replaces everything. What is published then is the delta from the image before to the
one that was loaded, so that topics which went meanwhile are seen to go.
"""

from collections.abc import Callable
from typing import TypeAlias

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.record import BadMetadataRecord, decode_record
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.messages.abort_transaction_record import AbortTransactionRecord
from barnabas_core.wire.messages.begin_transaction_record import BeginTransactionRecord
from barnabas_core.wire.messages.end_transaction_record import EndTransactionRecord
from barnabas_core.wire.schema import Message

Publish: TypeAlias = Callable[[Delta, Image], None]


class MetadataLoader:
    """A `MetadataSink`. `image` is what was published last."""

    def __init__(
        self, publish: Publish, image: Image = EMPTY_IMAGE, *, every_batch: bool = True
    ) -> None:
        self.image = image
        self._publish = publish
        self._every_batch = every_batch
        self._delta = Delta(image)
        self._provenance = image.provenance
        """Of the last batch that ended outside a transaction."""
        self._next_offset = image.provenance.offset + 1
        self._transaction: list[Message] | None = None
        self._begun_within_batch = False
        self._snapshot_id: SnapshotId | None = None
        self._snapshot_at_ms = -1

    @property
    def in_transaction(self) -> bool:
        """A controller that becomes active ends such a transaction with an abort."""
        return self._transaction is not None

    # --- the sink

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        assert snapshot_id.end_offset > self.image.provenance.offset, (
            f"snapshot {snapshot_id} is older than {self.image.provenance}"
        )
        self._snapshot_id = snapshot_id
        self._snapshot_at_ms = -1
        self._delta = Delta(EMPTY_IMAGE)
        self._transaction = None
        self._begun_within_batch = False

    def on_batch(self, batch: CommittedBatch) -> None:
        """`BadMetadataRecord` if it holds what is no record here; the loader is then of no use."""
        if self._snapshot_id is not None:
            self._load_of_snapshot(batch)
            return
        assert batch.base_offset == self._next_offset, (
            f"a batch at offset {batch.base_offset}, not {self._next_offset}"
        )
        self._load(batch)
        if self._every_batch:
            self.publish()

    def on_snapshot_end(self) -> None:
        snapshot_id = self._snapshot_id
        assert snapshot_id is not None, "the end of a snapshot that did not begin"
        last = Provenance(snapshot_id.end_offset - 1, snapshot_id.epoch, self._snapshot_at_ms)
        loaded = self._delta.apply(last)
        if self.image is not EMPTY_IMAGE:
            self._delta = Delta(self.image)
            self._delta.become(loaded)
        self._snapshot_id = None
        self._provenance = last
        self._next_offset = snapshot_id.end_offset
        self.publish()

    def publish(self) -> None:
        """Hand out what was replayed, up to the last batch that ended outside a transaction."""
        if self._snapshot_id is not None or self._begun_within_batch:
            # The delta then holds part of a snapshot, or of a batch whose end is held back.
            return
        if self._provenance == self.image.provenance:
            return
        delta = self._delta
        self.image = delta.apply(self._provenance)
        self._delta = Delta(self.image)
        self._publish(delta, self.image)

    # --- records

    def _load(self, batch: CommittedBatch) -> None:
        for index, value in enumerate(batch.values):
            self._take(decode_at(value, batch.base_offset + index), batch.base_offset, index)
        self._next_offset = batch.end_offset
        if self._transaction is None:
            self._begun_within_batch = False
            self._provenance = Provenance(batch.end_offset - 1, batch.epoch, batch.append_at_ms)

    def _take(self, record: Message, base_offset: int, index: int) -> None:
        match record:
            case BeginTransactionRecord():
                self._check_transaction(base_offset + index, is_open=False)
                self._transaction = []
                self._begun_within_batch = self._begun_within_batch or index > 0
            case EndTransactionRecord():
                for held in self._check_transaction(base_offset + index, is_open=True):
                    self._replay(held, base_offset + index)
                self._transaction = None
            case AbortTransactionRecord():
                self._check_transaction(base_offset + index, is_open=True)
                self._transaction = None
            case _ if self._transaction is not None:
                self._transaction.append(record)
            case _:
                self._replay(record, base_offset + index)

    def _check_transaction(self, offset: int, *, is_open: bool) -> list[Message]:
        if (self._transaction is not None) != is_open:
            fault = "no transaction is open" if is_open else "a transaction is open already"
            raise BadMetadataRecord(f"at offset {offset}: {fault}")
        return self._transaction or []

    def _load_of_snapshot(self, batch: CommittedBatch) -> None:
        for index, value in enumerate(batch.values):
            offset = batch.base_offset + index
            self._replay(decode_at(value, offset), offset)
        self._snapshot_at_ms = batch.append_at_ms

    def _replay(self, record: Message, offset: int) -> None:
        try:
            self._delta.replay(record)
        except (AssertionError, LookupError) as error:
            error.add_note(f"{type(record).__name__} at offset {offset} of the metadata log")
            raise


def decode_at(value: memoryview, offset: int) -> Message:
    """`BadMetadataRecord` with the offset if it is no record that is known here."""
    try:
        return decode_record(value)
    except BadMetadataRecord as error:
        raise BadMetadataRecord(f"at offset {offset}: {error}") from error
