"""The one history of the metadata, put together from whoever first knows a record to be committed.

Every controller's every committed batch is compared with it, record by record, and so is the state
that a controller has made of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.loader import MetadataLoader, decode_at
from tests.sim.invariant import check

if TYPE_CHECKING:
    from barnabas_core.wire.schema import Message

COMPARED = [field.name for field in fields(Image) if field.name != "provenance"]


@dataclass(slots=True)
class TruthCount:
    elections: int = 0
    deposed: int = 0
    """Active controllers that lost their place with something pending."""
    snapshots_begun: int = 0
    snapshots_loaded: int = 0
    """Those that formatting left do not count."""
    records: int = 0
    images_compared: int = 0


class Truth:
    def __init__(self) -> None:
        self.count = TruthCount()
        self.on_record: Callable[[int, Message], None] = lambda _, __: None
        """(offset, record), once for each, in order."""
        self._records: list[bytes | None] = []
        """By offset; None: of the quorum's own."""
        self._epochs: dict[int, int] = {}
        """By first offset of a batch, as far as it is known."""
        self._loader = MetadataLoader(lambda _, __: None)
        self._images: dict[int, Image] = {}
        self._leaders: dict[int, int] = {}

    @property
    def end_offset(self) -> int:
        return len(self._records)

    @property
    def image(self) -> Image:
        """All that is committed."""
        return self._loader.image

    # --- what controllers know

    def on_active(self, node_id: int, epoch: int) -> None:
        if epoch not in self._leaders:
            self.count.elections += 1
        leader = self._leaders.setdefault(epoch, node_id)
        check(leader == node_id, "epoch", epoch, "has two active controllers:", leader, node_id)

    def on_batch(self, node_id: int, batch: CommittedBatch) -> None:
        values: list[bytes | None] = [bytes(value) for value in batch.values]
        if not values:
            values = [None] * (batch.end_offset - batch.base_offset)
        self.on_values(node_id, batch.base_offset, values, batch.append_at_ms)
        epoch = self._epochs.setdefault(batch.base_offset, batch.epoch)
        check(epoch == batch.epoch, node_id, "has another epoch at", batch.base_offset)

    def on_values(
        self, node_id: int, base_offset: int, values: Sequence[bytes | None], at_ms: int
    ) -> None:
        check(base_offset <= self.end_offset, node_id, "has a gap before", base_offset)
        known = self._records[base_offset : base_offset + len(values)]
        for offset, (ours, theirs) in enumerate(zip(known, values, strict=False), base_offset):
            check(ours == theirs, node_id, "has committed something else at", offset)
        new = values[len(known) :]
        if new:
            self._add(new, at_ms)

    def _add(self, values: Sequence[bytes | None], at_ms: int) -> None:
        base_offset = self.end_offset
        self._records.extend(values)
        real = [memoryview(value) for value in values if value is not None]
        batch = CommittedBatch(base_offset, self.end_offset, 0, at_ms, real)
        self._loader.on_batch(batch)
        self._images[self.end_offset] = self._loader.image
        self.count.records += len(real)
        for offset, value in enumerate(values, base_offset):
            if value is not None:
                self.on_record(offset, decode_at(memoryview(value), offset))

    def on_image(self, node_id: int, image: Image) -> None:
        """A controller holds this state, and believes that it is committed."""
        end_offset = image.provenance.offset + 1
        check(end_offset <= self.end_offset, node_id, "is ahead of what is committed", end_offset)
        known = self._images.get(end_offset)
        if known is None:
            return
        self.count.images_compared += 1
        for name in COMPARED:
            theirs, ours = getattr(image, name), getattr(known, name)
            check(theirs == ours, node_id, "differs at", end_offset, "in", name, theirs, ours)
