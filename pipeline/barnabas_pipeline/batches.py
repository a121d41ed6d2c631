"""What is done with each batch of a query: every sink takes it, in order.

An exception of a sink ends the query; it is kept, as Spark passes on only its text.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from barnabas_pipeline.files import Files
from barnabas_pipeline.sinks.sink import Sink


@dataclass(slots=True)
class Batches:
    """`before` is called ahead of each batch and may refuse it; `written` hears how many rows."""

    files: Files
    checkpoint: str
    sinks: Sequence[Sink]
    before: Callable[[], None]
    written: Callable[[int], None]
    failure: BaseException | None = None
    _is_open: bool = field(default=False, init=False)

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        try:
            self._take(batch, batch_id)
        except BaseException as error:
            self.failure = error
            raise

    def _take(self, batch: DataFrame, batch_id: int) -> None:
        self.before()
        if not self._is_open:
            query_id = self._query_id()
            for sink in self.sinks:
                sink.open(query_id)
            self._is_open = True
        if len(self.sinks) == 1 and self.sinks[0].reads_once:
            self.written(self.sinks[0].write(batch, batch_id).rows)
            return
        # Computed once: state must not be updated by one sink and read by the next.
        batch.persist()
        try:
            for sink in self.sinks:
                self.written(sink.write(batch, batch_id).rows)
        finally:
            batch.unpersist()

    def _query_id(self) -> str:
        """Spark's, which stays the same as long as the checkpoint does."""
        text = self.files.read_text(f"{self.checkpoint}/metadata")
        assert text is not None, "Spark writes it before the first batch"
        return str(json.loads(text)["id"])
