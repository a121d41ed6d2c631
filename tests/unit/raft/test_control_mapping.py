"""Control records in their batches."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft.control_mapping import UNKNOWN_CONTROL, batches_in, control_batch
from barnabas_core.raft.record import Control, KRaftVersionChange
from barnabas_core.records.builder import build_batch
from barnabas_core.records.record import Record
from tests.support.raft_messages import controls


@given(st.lists(controls, min_size=1, max_size=4), st.integers(0, 2**40), st.integers(0, 99))
def test_controls_come_out_of_a_batch_as_they_went_in(
    some: list[Control], base_offset: int, epoch: int
) -> None:
    data = control_batch(some, base_offset=base_offset, epoch=epoch, timestamp_ms=5)

    (batch,) = batches_in(data)

    assert batch.controls == tuple(some)
    assert (batch.base_offset, batch.epoch, batch.count) == (base_offset, epoch, len(some))
    assert batch.payload == data


def test_a_control_record_of_a_later_kafka_keeps_its_place() -> None:
    later = Record(10, 1, b"\x00\x00\x00\x63", b"\x00\x00", ())
    data = build_batch([later], base_offset=10, leader_epoch=1, is_control=True)

    (batch,) = batches_in(data)

    assert batch.controls == (UNKNOWN_CONTROL,)


def test_a_piece_of_a_batch_at_the_end_is_left_out() -> None:
    whole = control_batch([KRaftVersionChange(1)], base_offset=0, epoch=1, timestamp_ms=5)

    batches = batches_in(bytes(whole) + bytes(whole[:-1]))

    assert [batch.base_offset for batch in batches] == [0]


def test_data_has_no_controls() -> None:
    data = build_batch([(None, b"a"), (None, b"b")], base_offset=4, leader_epoch=2)

    (batch,) = batches_in(data)

    assert (batch.controls, batch.end_offset) == ((), 6)
