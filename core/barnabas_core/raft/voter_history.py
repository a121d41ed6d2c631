"""Which voters and which kraft.version hold at which offset: replayed from control records.

The newest entry counts from the moment it is in the log, committed or not, so truncating the log
must bring the one before it back.
"""

from barnabas_core.raft.identity import ReplicaKey
from barnabas_core.raft.raft_log import RaftLog, SnapshotInfo
from barnabas_core.raft.record import Batch, Control, KRaftVersionChange, VotersChange
from barnabas_core.raft.voter import VoterSet

BEFORE_THE_LOG = -1
_REPLAY_BYTES = 1 << 20


class VoterHistory:
    __slots__ = ("_levels", "_static", "_voters", "kraft_version", "voters", "voters_offset")

    def __init__(self, static: VoterSet | None = None) -> None:
        self._static = static or VoterSet()
        self._voters: list[tuple[int, VoterSet]] = []
        self._levels: list[tuple[int, int]] = []
        self._refresh()

    def _refresh(self) -> None:
        at = (BEFORE_THE_LOG, self._static)
        self.voters_offset, self.voters = self._voters[-1] if self._voters else at
        self.kraft_version = self._levels[-1][1] if self._levels else 0

    @property
    def is_bootstrap(self) -> bool:
        """The voters are known from formatting alone: there is no record for others to fetch."""
        return self.voters_offset == BEFORE_THE_LOG

    def is_removed_since(self, key: ReplicaKey, committed: int) -> bool:
        """Was this replica a voter until the newest set, which is not known to be committed?"""
        if self.voters_offset < committed or len(self._voters) < 2:
            return False
        return self.voters.find(key) is None and self._voters[-2][1].find(key) is not None

    def load(self, log: RaftLog) -> None:
        """Everything from the log: its snapshot, then its records."""
        snapshot = log.snapshot()
        offset = log.start_offset
        if snapshot is not None:
            self.reset(snapshot)
            # The records that it stands for may still be there: a crash came before their end.
            offset = max(offset, snapshot.id.end_offset)
        while batches := log.read(offset, _REPLAY_BYTES):
            for batch in batches:
                self.replay(batch)
            offset = batches[-1].end_offset

    def reset(self, snapshot: SnapshotInfo) -> None:
        """The log is replaced by a snapshot."""
        at = snapshot.id.end_offset - 1
        self._levels = [(at, snapshot.kraft_version)]
        self._voters = [] if snapshot.voters is None else [(at, snapshot.voters)]
        self._refresh()

    def replay(self, batch: Batch) -> None:
        if not batch.controls:
            return
        for delta, control in enumerate(batch.controls):
            self._replay_control(batch.base_offset + delta, control)
        self._refresh()

    def _replay_control(self, offset: int, control: Control) -> None:
        if isinstance(control, VotersChange):
            assert offset > self.voters_offset, f"voters at {offset} after {self.voters_offset}"
            self._voters.append((offset, control.voters))
        elif isinstance(control, KRaftVersionChange):
            self._levels.append((offset, control.level))

    def truncate(self, end_offset: int) -> None:
        while self._voters and self._voters[-1][0] >= end_offset:
            self._voters.pop()
        while self._levels and self._levels[-1][0] >= end_offset:
            self._levels.pop()
        self._refresh()

    def delete_before(self, offset: int) -> None:
        """Forget what no truncation can bring back: all but the last entry before `offset`."""
        while len(self._voters) > 1 and self._voters[1][0] < offset:
            self._voters.pop(0)
        while len(self._levels) > 1 and self._levels[1][0] < offset:
            self._levels.pop(0)

    def at(self, end_offset: int) -> tuple[int, VoterSet | None]:
        """(kraft.version, voters) for the head of a snapshot of the records before `end_offset`."""
        level = next((level for at, level in reversed(self._levels) if at < end_offset), 0)
        voters = next((voters for at, voters in reversed(self._voters) if at < end_offset), None)
        return level, voters
