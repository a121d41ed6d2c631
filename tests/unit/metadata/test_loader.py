"""The loader: batches and snapshots to images, whole transactions, nothing skipped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch, parse_batches
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.metadata.record import BadMetadataRecord
from barnabas_core.metadata.snapshot import encode_at_level, record_batches
from barnabas_core.raft.checkpoint_file import build_checkpoint
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.messages.abort_transaction_record import AbortTransactionRecord
from barnabas_core.wire.messages.begin_transaction_record import BeginTransactionRecord
from barnabas_core.wire.messages.end_transaction_record import EndTransactionRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.support.metadata_history import LATEST_LEVEL, histories, history, image_of

BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
NOW_MS = 1_700_000_000_000


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


@dataclass
class LoaderLab:
    """A loader, the log that is fed to it, and what it publishes."""

    every_batch: bool = True
    deltas: list[Delta] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    next_offset: int = 0
    on_publish: Callable[[Image], None] = lambda image: None

    def __post_init__(self) -> None:
        self.loader = MetadataLoader(self._publish, every_batch=self.every_batch)

    def _publish(self, delta: Delta, image: Image) -> None:
        self.deltas.append(delta)
        self.images.append(image)
        self.on_publish(image)

    def batch(self, *records: Message, epoch: int = 1) -> None:
        self.raw_batch([encode_at_level(record, LATEST_LEVEL) for record in records], epoch)

    def raw_batch(self, values: Sequence[bytes], epoch: int = 1, control_count: int = 0) -> None:
        end = self.next_offset + len(values) + control_count
        views = [memoryview(value) for value in values]
        batch = CommittedBatch(self.next_offset, end, epoch, NOW_MS + end, views)
        self.next_offset = end
        self.loader.on_batch(batch)

    def snapshot(self, image: Image, end_offset: int, *, until: int | None = None) -> None:
        """From the bytes of its file; `until` so many batches only, as if the rest were lost."""
        snapshot_id = SnapshotId(end_offset, 3)
        parts = build_checkpoint(
            record_batches(image, records_per_batch=5),
            last_appended_at_ms=NOW_MS,
            timestamp_ms=NOW_MS,
            kraft_version=None,
            voters=None,
            epoch=3,
        )
        self.loader.on_snapshot_begin(snapshot_id)
        for batch in list(parse_batches(b"".join(parts)))[:until]:
            self.loader.on_batch(batch)
        if until is None:
            self.loader.on_snapshot_end()
            self.next_offset = end_offset

    @property
    def names(self) -> list[str]:
        return list(self.loader.image.topics.id_by_name)


@pytest.fixture
def lab() -> LoaderLab:
    return LoaderLab()


# --- batches


def test_each_batch_is_published_with_where_it_ended(lab: LoaderLab) -> None:
    lab.batch(topic("a"), topic("b"), epoch=4)
    lab.batch(topic("c"), epoch=5)

    assert [image.provenance for image in lab.images] == [
        Provenance(1, 4, NOW_MS + 2),
        Provenance(2, 5, NOW_MS + 3),
    ]
    assert [list(delta.topics.changed) for delta in lab.deltas] == [
        [topic("a").topic_id, topic("b").topic_id],
        [topic("c").topic_id],
    ]
    assert lab.deltas[1].base is lab.images[0]


def test_a_control_batch_changes_nothing_but_the_offset(lab: LoaderLab) -> None:
    lab.batch(topic("a"))
    before = lab.loader.image

    lab.raw_batch([], control_count=1)

    assert lab.loader.image.provenance.offset == 1
    assert lab.loader.image.topics is before.topics


def test_a_loader_that_is_told_to_wait_publishes_many_batches_as_one_delta() -> None:
    lab = LoaderLab(every_batch=False)
    lab.batch(topic("a"))
    lab.batch(topic("b"))
    assert lab.images == []

    lab.loader.publish()
    lab.loader.publish()

    assert lab.names == ["a", "b"]
    assert len(lab.deltas) == 1


def test_a_gap_in_the_log_is_never_taken(lab: LoaderLab) -> None:
    lab.batch(topic("a"))
    lab.next_offset += 1

    with pytest.raises(AssertionError, match="a batch at offset 2, not 1"):
        lab.batch(topic("b"))


@given(histories(), st.lists(st.integers(1, 7), min_size=1), st.booleans())
def test_any_split_into_batches_ends_with_the_same_image(
    records: list[Message], sizes: list[int], every_batch: bool
) -> None:
    lab = LoaderLab(every_batch=every_batch)

    position = turn = 0
    while position < len(records):
        size = sizes[turn % len(sizes)]
        lab.batch(*records[position : position + size])
        position, turn = position + size, turn + 1
    lab.loader.publish()

    provenance = lab.loader.image.provenance
    assert provenance.offset == len(records) - 1
    delta = Delta(EMPTY_IMAGE)
    for record in records:
        delta.replay(record)
    assert lab.loader.image == delta.apply(provenance)


# --- what is no record


def test_a_damaged_record_is_told_of_with_its_offset(lab: LoaderLab) -> None:
    lab.batch(topic("a"))

    with pytest.raises(BadMetadataRecord, match="at offset 2: "):
        lab.raw_batch([encode_at_level(topic("b"), LATEST_LEVEL), b"\x01\x02"])

    assert lab.names == ["a"]


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x01\x63\x00", b"\x01\x02\x63", b"\x02\x02\x00"])
def test_records_of_no_known_kind_are_never_skipped(lab: LoaderLab, value: bytes) -> None:
    with pytest.raises(BadMetadataRecord, match="at offset 0: "):
        lab.raw_batch([value])


def test_a_record_that_does_not_fit_the_image_says_where_it_is(lab: LoaderLab) -> None:
    lab.batch(topic("a"))

    with pytest.raises(LookupError) as raised:
        lab.batch(PartitionChangeRecord(partition_id=0, topic_id=topic("a").topic_id))

    assert raised.value.__notes__ == ["PartitionChangeRecord at offset 1 of the metadata log"]


# --- transactions, as KIP-868 has them


def test_a_transaction_is_seen_at_its_end_and_not_before(lab: LoaderLab) -> None:
    lab.batch(topic("a"))
    lab.batch(BEGIN, topic("b"))
    lab.batch(topic("c"))
    assert lab.names == ["a"]
    assert lab.loader.image.provenance.offset == 0
    assert lab.loader.in_transaction

    lab.batch(END)

    assert lab.names == ["a", "b", "c"]
    assert lab.loader.image.provenance.offset == 4
    assert not lab.loader.in_transaction


def test_an_aborted_transaction_leaves_nothing_but_its_offsets(lab: LoaderLab) -> None:
    lab.batch(topic("a"))
    lab.batch(BEGIN, topic("b"))
    lab.batch(ABORT, topic("c"))

    assert lab.names == ["a", "c"]
    assert lab.loader.image.provenance.offset == 4


def test_a_transaction_within_one_batch_is_seen_with_it(lab: LoaderLab) -> None:
    lab.batch(topic("a"), BEGIN, topic("b"), END, BEGIN, topic("c"), ABORT)

    assert lab.names == ["a", "b"]
    assert lab.loader.image.provenance.offset == 6


def test_what_stands_before_a_transaction_in_its_batch_waits_for_the_end(lab: LoaderLab) -> None:
    """An image must end with a batch: a snapshot of it could not be named otherwise."""
    lab.batch(topic("a"))
    lab.batch(topic("b"), BEGIN, topic("c"))
    assert lab.names == ["a"]

    lab.batch(topic("d"), ABORT)

    assert lab.names == ["a", "b"]
    assert lab.loader.image.provenance.offset == 5


def test_batches_before_a_transaction_are_published_although_it_is_open() -> None:
    lab = LoaderLab(every_batch=False)
    lab.batch(topic("a"))
    lab.batch(BEGIN, topic("b"))

    lab.loader.publish()

    assert lab.names == ["a"]
    assert lab.loader.image.provenance.offset == 0


def test_a_batch_that_ends_within_a_transaction_holds_back_those_before_it_too() -> None:
    """Its first records are replayed already: an image of them would end within the batch."""
    lab = LoaderLab(every_batch=False)
    lab.batch(topic("a"))
    lab.batch(topic("b"), BEGIN, topic("c"))

    lab.loader.publish()
    assert lab.images == []
    lab.batch(END)
    lab.loader.publish()

    assert lab.names == ["a", "b", "c"]
    assert lab.loader.image.provenance.offset == 4


@pytest.mark.parametrize(
    ("records", "offset"), [([END], 0), ([topic("a"), ABORT], 1), ([BEGIN, BEGIN], 1)]
)
def test_a_transaction_that_does_not_begin_and_end_in_turn_is_damage(
    lab: LoaderLab, records: list[Message], offset: int
) -> None:
    with pytest.raises(BadMetadataRecord, match=f"at offset {offset}: "):
        lab.batch(*records)


@given(st.integers(0, 2**32), st.data())
def test_no_published_image_ever_holds_part_of_a_transaction(
    seed: int, data: st.DataObject
) -> None:
    """Each is what a reader of the whole log up to there would have, as its snapshot must be."""
    log: list[Message] = []
    visible: list[list[Message]] = [[]]
    lab = LoaderLab()
    lab.on_publish = lambda image: check_published(image, log, visible)
    for number in range(data.draw(st.integers(1, 12))):
        records = batch_with_transactions(data, f"{seed}-{number}", log)
        for record in records:
            visible.append(visible_after([*log, record]))
            log.append(record)
        lab.batch(*records)


def batch_with_transactions(data: st.DataObject, prefix: str, log: list[Message]) -> list[Message]:
    records: list[Message] = []
    for number in range(data.draw(st.integers(1, 4))):
        choices: list[Message] = [topic(f"{prefix}-{number}"[-14:])]
        choices += [END, ABORT] if is_open([*log, *records]) else [BEGIN]
        records.append(data.draw(st.sampled_from(choices)))
    return records


def is_open(log: list[Message]) -> bool:
    marks = [each for each in log if not isinstance(each, TopicRecord)]
    return bool(marks) and isinstance(marks[-1], BeginTransactionRecord)


def visible_after(log: list[Message]) -> list[Message]:
    """The records that count, by the rule itself."""
    counted: list[Message] = []
    held: list[Message] | None = None
    for record in log:
        if isinstance(record, BeginTransactionRecord):
            held = []
        elif isinstance(record, EndTransactionRecord):
            counted, held = [*counted, *(held or [])], None
        elif isinstance(record, AbortTransactionRecord):
            held = None
        else:
            (counted if held is None else held).append(record)
    return counted


def check_published(image: Image, log: list[Message], visible: list[list[Message]]) -> None:
    end = image.provenance.offset + 1
    assert not is_open(log[:end])
    assert image.topics == image_of(visible[end]).topics


# --- snapshots


def test_a_snapshot_becomes_the_image_and_the_log_goes_on_behind_it(lab: LoaderLab) -> None:
    image = image_of([topic("a"), topic("b")])

    lab.snapshot(image, end_offset=100)
    lab.batch(topic("c"))

    assert lab.images[0].topics == image.topics
    assert lab.images[0].provenance == Provenance(99, 3, NOW_MS)
    assert lab.names == ["a", "b", "c"]
    assert lab.loader.image.provenance.offset == 100


@given(histories())
def test_a_snapshot_of_any_history_is_loaded_whole(records: list[Message]) -> None:
    lab = LoaderLab()
    image = image_of(records)

    lab.snapshot(image, end_offset=1000)

    assert len(lab.images) == 1
    delta = Delta(image)
    assert delta.apply(lab.images[0].provenance) == lab.images[0]


def test_a_later_snapshot_tells_what_went_and_what_changed(lab: LoaderLab) -> None:
    lab.batch(topic("gone"), topic("kept"))
    image = image_of([topic("kept"), topic("new")])

    lab.snapshot(image, end_offset=100)

    assert [each.name for each in lab.deltas[1].topics.deleted.values()] == ["gone"]
    assert list(lab.deltas[1].topics.changed) == [topic("new").topic_id]
    assert lab.names == ["kept", "new"]


def test_a_snapshot_that_was_cut_off_begins_again(lab: LoaderLab) -> None:
    image = image_of(history(seed=1, size=60))

    lab.snapshot(image, end_offset=100, until=2)
    assert lab.images == []
    lab.snapshot(image, end_offset=120)

    assert lab.loader.image.topics == image.topics
    assert lab.loader.image.provenance.offset == 119


def test_half_a_snapshot_is_never_handed_out() -> None:
    lab = LoaderLab(every_batch=False)
    lab.batch(topic("a"))

    lab.snapshot(image_of(history(seed=1, size=60)), end_offset=100, until=2)
    lab.loader.publish()

    assert lab.images == []


def test_a_snapshot_ends_a_transaction_that_was_open(lab: LoaderLab) -> None:
    lab.batch(BEGIN, topic("a"))

    lab.snapshot(image_of([topic("b")]), end_offset=100)
    lab.batch(topic("c"))

    assert lab.names == ["b", "c"]


def test_an_older_snapshot_is_never_taken(lab: LoaderLab) -> None:
    lab.batch(topic("a"), topic("b"))

    with pytest.raises(AssertionError, match="is older than"):
        lab.snapshot(image_of([topic("a")]), end_offset=1)


def test_a_damaged_snapshot_is_told_of_and_not_published(lab: LoaderLab) -> None:
    lab.loader.on_snapshot_begin(SnapshotId(10, 1))

    with pytest.raises(BadMetadataRecord, match="at offset 4: "):
        lab.loader.on_batch(CommittedBatch(4, 5, 1, NOW_MS, [memoryview(b"\x01")]))

    assert lab.images == []


def test_an_image_to_begin_with_is_gone_on_from(lab: LoaderLab) -> None:
    lab.batch(topic("a"), topic("b"))
    published: list[Image] = []

    resumed = MetadataLoader(lambda _, image: published.append(image), lab.loader.image)
    removal = memoryview(encode_at_level(RemoveTopicRecord(topic("a").topic_id), LATEST_LEVEL))
    resumed.on_batch(CommittedBatch(2, 3, 1, NOW_MS, [removal]))

    assert list(published[0].topics.id_by_name) == ["b"]
