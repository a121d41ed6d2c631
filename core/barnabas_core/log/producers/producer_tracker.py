"""The producer state of one log and its snapshot files, loaded when somebody asks.

A snapshot named by offset N holds the state before the batch at N. One is written for the base
offset of each segment when it begins, and one at the log's end when it is closed, so that a log
opened after a clean stop has nothing to replay. Idle partitions without producers never load it.
"""

from bisect import bisect_left, bisect_right, insort

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.opening.replay import replay_segment
from barnabas_core.log.producers.producer_snapshot import (
    CorruptSnapshot,
    decode_snapshot,
    encode_snapshot,
)
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.log.segments.file_name import PRODUCER_SNAPSHOT, file_name
from barnabas_core.log.segments.segment_store import SegmentStore

EMPTY_SNAPSHOT_BYTES = len(encode_snapshot(b""))


class ProducerTracker:
    __slots__ = (
        "_environment",
        "_opened_at_ms",
        "_state",
        "_store",
        "is_stored",
        "snapshot_offsets",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        store: SegmentStore,
        loaded: LoadedLog,
        now_ms: int,
    ) -> None:
        self._environment = environment
        self._store = store
        self._opened_at_ms = now_ms
        self._state: ProducerState | None = None
        self.snapshot_offsets = loaded.snapshot_offsets
        # Whether the files hold state that was not loaded yet.
        self.is_stored = loaded.has_producers

    @property
    def loaded(self) -> ProducerState | None:
        """The state if anybody needed it so far; None also stands for "no producer ever"."""
        return self._state

    def clear(self) -> None:
        """The log is empty: so is the state, and no snapshot holds."""
        self._state = None
        self.is_stored = False
        for offset in list(self.snapshot_offsets):
            self._remove(offset)

    def load(self) -> ProducerState:
        """The state at the end of the log, if need be from the newest snapshot and what follows."""
        if not self.is_stored:
            self._state = ProducerState()
            return self._state
        return self.reload()

    def reload(self) -> ProducerState:
        """From the newest good snapshot, and the batches after it."""
        state, offset = self._from_snapshot()
        self._replay(state, offset)
        self._state = state
        self.is_stored = False
        return state

    def truncate(self, offset: int) -> None:
        """The log ends at `offset` now; loaded again when somebody asks."""
        if self._state is not None and len(self._state):
            self.is_stored = True
        if self.is_stored:
            self._state = None
        for later in self.snapshot_offsets[bisect_right(self.snapshot_offsets, offset) :]:
            self._remove(later)

    def _from_snapshot(self) -> tuple[ProducerState, int]:
        state = ProducerState()
        while self.snapshot_offsets:
            offset = self.snapshot_offsets[-1]
            data = self._environment.disk.read(self._path(offset))
            try:
                if data is not None:
                    expiration_ms = self._environment.producer_expiration_ms
                    state.load(decode_snapshot(data), self._opened_at_ms, expiration_ms)
                    return state, offset
            except CorruptSnapshot:
                pass
            self._remove(offset)
        return state, self._store.segments[0].base_offset

    def _replay(self, state: ProducerState, offset: int) -> None:
        files = self._environment.files
        for segment in self._store.from_offset(offset):
            if not segment.size_bytes:
                continue
            read_at = segment.file(files).read_at
            position = segment.position_before(files, offset)
            replay_segment(state, read_at, position, segment.size_bytes, offset)

    def encode(self) -> bytes:
        """A snapshot of the state as it is now."""
        assert not self.is_stored, "the state must be loaded before it can be written"
        return encode_snapshot(self._state.snapshot() if self._state is not None else b"")

    def note_snapshot(self, offset: int) -> None:
        if offset not in self.snapshot_offsets:
            insort(self.snapshot_offsets, offset)

    def forget_before(self, offset: int) -> list[str]:
        """The log begins at `offset`; the snapshot files that are of no use any more."""
        keep = bisect_left(self.snapshot_offsets, offset)
        obsolete = [self._path(it) for it in self.snapshot_offsets[:keep]]
        del self.snapshot_offsets[:keep]
        return obsolete

    def _remove(self, offset: int) -> None:
        self._environment.disk.remove(self._path(offset))
        self.snapshot_offsets.remove(offset)

    def _path(self, offset: int) -> str:
        return f"{self._store.dir_path}/{file_name(offset, PRODUCER_SNAPSHOT)}"

    def paths_from(self, offset: int) -> list[str]:
        """The snapshot files that hold for `offset` or later."""
        return [self._path(it) for it in self.snapshot_offsets if it >= offset]
