"""A pipeline that runs: its queries, from start to end, and why they ended."""

import json
import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from barnabas_pipeline.batches import Batches
from barnabas_pipeline.pipeline_error import PipelineError, QueryFailed
from barnabas_pipeline.progress import Totals
from barnabas_pipeline.topics import KnownTopics, Topics


class Run:
    """Ends by itself with `available-now`, by `stop`, or by `PipelineError` out of `wait`."""

    def __init__(self, queries: Sequence[StreamingQuery], batches: Batches, totals: Totals) -> None:
        self._queries = queries
        self._batches = batches
        self._begun_at = time.monotonic()
        self.totals = totals

    @property
    def is_active(self) -> bool:
        return any(query.isActive for query in self._queries)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended; the queries end together, whichever fails."""
        give_up_at = None if timeout_s is None else time.monotonic() + timeout_s
        while self.is_active:
            for query in self._queries:
                if not query.isActive:
                    self._check(query)
            if give_up_at is not None and time.monotonic() >= give_up_at:
                return False
            time.sleep(0.05)
        self.totals.seconds = time.monotonic() - self._begun_at
        for query in self._queries:
            self._check(query)
        return True

    def stop(self) -> None:
        """What is under way is done again by the next run, and nothing is lost or doubled."""
        for query in self._queries:
            query.stop()
        self.totals.seconds = time.monotonic() - self._begun_at

    def reports(self) -> list[dict[str, Any]]:
        """Of the last batches of the query that writes rows, as Spark's JSON has them."""
        return [json.loads(report.json) for report in self._queries[0].recentProgress]

    def process_all(self) -> None:
        """Until everything that is there now is through; for tests and demonstrations."""
        for query in self._queries:
            query.processAllAvailable()

    def _check(self, query: StreamingQuery) -> None:
        if query.exception() is None:
            return
        self.stop()
        failure = self._batches.failure
        if isinstance(failure, PipelineError):
            raise failure
        raise QueryFailed(_innermost_message(query))


def _innermost_message(query: StreamingQuery) -> str:
    """Java wraps an exception into others, and each quotes all of those inside."""
    java: Any = query._jsq.exception()
    error = java.get()
    while error.getCause() is not None:
        error = error.getCause()
    return str(error.getMessage() or error.toString()).partition("\n\tat ")[0]


def explain_failure(error: QueryFailed, known: KnownTopics, topics: Topics) -> PipelineError:
    """Spark says that offsets changed; whether the topic is another one, the brokers know."""
    try:
        known.check(topics.ids())
    except PipelineError as better:
        return better
    return error
