"""What a query expects of a sink."""

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Written:
    """`rows` of a batch that had been taken before are none."""

    rows: int


class Sink(Protocol):
    # One that goes through the rows again would have them computed again.
    reads_once: bool

    def open(self, query_id: str) -> None:
        """Before the first batch: what a crash left half done is finished or removed."""

    def write(self, batch: DataFrame, batch_id: int) -> Written: ...
