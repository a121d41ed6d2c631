"""Which transactions a pass over the log has met, so that aborted data and spent markers can go.

Fed with the aborted transactions of the segments' `.txnindex` files and then with every batch in
offset order. Data of an aborted transaction is dropped whatever its key. A marker (commit or abort)
is *spent* when the pass met no batch of its transaction before it: only then may it go, after its
delete horizon, because a reader needs it as long as there is data. A batch that is kept empty for
its producer's sake counts as data.

An abort marker that stays takes its index entry along into the new segment: `take_aborted` hands
them out.
"""

from collections import deque
from collections.abc import Iterable

from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.control import ControlType


class TransactionPass:
    """State of one pass; transactions may span the segments and groups of it."""

    __slots__ = ("_aborted", "_coming", "_kept", "_seen_aborted", "_seen_committed")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = deque(sorted(set(aborted), key=lambda it: (it.first_offset, it)))
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen_aborted: set[int] = set()
        self._seen_committed: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """For every data batch, in order: does it belong to an aborted transaction?

        Markers need not be fed for this answer: an entry tells where its transaction ends.
        """
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        aborted = self._aborted.get(header.producer_id)
        if aborted is not None and header.last_offset < aborted.last_offset:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def is_spent(self, header: BatchHeader, marker: ControlType) -> bool:
        """For every commit and abort marker, in order."""
        self._advance(header.last_offset)
        had_data = header.producer_id in self._seen_committed
        self._seen_committed.discard(header.producer_id)
        if marker is ControlType.COMMIT:
            return not had_data
        if had_data:
            # Going on would drop the marker and make the aborted data readable for good.
            raise UncleanableLog(f"offset {header.last_offset}: abort marker missing in the index")
        return self._end_aborted(header)

    def take_aborted(self) -> list[AbortedTransaction]:
        """Index entries of the abort markers that stayed since the last call, in marker order."""
        kept, self._kept = self._kept, []
        return kept

    def _advance(self, offset: int) -> None:
        while self._coming and self._coming[0].first_offset <= offset:
            aborted = self._coming.popleft()
            self._aborted[aborted.producer_id] = aborted

    def _end_aborted(self, marker: BatchHeader) -> bool:
        aborted = self._aborted.pop(marker.producer_id, None)
        had_data = marker.producer_id in self._seen_aborted
        self._seen_aborted.discard(marker.producer_id)
        if aborted is None or not had_data:
            return True
        self._kept.append(aborted)
        return False
