"""The log of the tests against a plain list of epochs: what the simulator stands on."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft import SnapshotId, SnapshotInfo
from barnabas_core.raft.record import Batch
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2)),
        st.tuples(st.just("truncate"), st.integers(0, 6)),
        st.tuples(st.just("snapshot"), st.integers(0, 6)),
    ),
    max_size=30,
)


@given(steps)
def test_it_agrees_with_a_list_of_epochs(script: list[tuple[str, int]]) -> None:
    log, start = MemoryLog(SnapshotStore()), 0
    epochs: list[int] = []
    for action, number in script:
        if action == "append":
            epoch = max(1, log.last_epoch) + number
            log.append([Batch(len(epochs), epoch, 1)])
            epochs.append(epoch)
        elif action == "truncate" and len(epochs) - number >= start:
            del epochs[len(epochs) - number :]
            log.truncate(len(epochs))
        elif action == "snapshot" and start < len(epochs) - number:
            start = len(epochs) - number
            snapshot_id = SnapshotId(start, epochs[start - 1])
            log.add_snapshot(Snapshot(SnapshotInfo(snapshot_id), b""))
            log.delete_before(snapshot_id)
        check_equal(log.copy(), epochs, start)


def check_equal(log: MemoryLog, epochs: list[int], start: int) -> None:
    assert (log.start_offset, log.end_offset) == (start, len(epochs))
    assert log.last_epoch == (epochs[-1] if epochs else 0)
    assert [batch.epoch for batch in log.read(start, 1 << 20)] == epochs[start:]
    for offset in range(max(start - 1, 0), len(epochs)):
        assert log.epoch_at(offset) == epochs[offset]
    for epoch in range(max(epochs, default=0) + 2):
        # What the snapshot stands for is known by its last record.
        known = [(one, offset + 1) for offset, one in enumerate(epochs) if offset >= start - 1]
        ends = [(one, end) for one, end in known if one <= epoch]
        assert log.end_offset_for_epoch(epoch) == (ends[-1] if ends else None)
