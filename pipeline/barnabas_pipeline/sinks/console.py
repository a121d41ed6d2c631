"""Rows to the terminal, for trying."""

from pyspark.sql import DataFrame

from barnabas_pipeline.sinks.sink import Written
from barnabas_pipeline.spec.model import ConsoleSink


class Console:
    reads_once = False

    def __init__(self, spec: ConsoleSink) -> None:
        self._rows = spec.rows

    def open(self, query_id: str) -> None:
        """Nothing is left from the run before."""

    def write(self, batch: DataFrame, batch_id: int) -> Written:
        count = batch.count()
        print(f"batch {batch_id}: {count} rows", flush=True)
        if count:
            batch.show(self._rows, truncate=False)
        return Written(count)
