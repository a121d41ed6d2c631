"""Spark's reports after every batch, handed to whoever counts."""

import json
import time
from collections.abc import Callable, Sequence

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from barnabas_pipeline.progress import Progress, read_progress


class ProgressListener(StreamingQueryListener):
    """Of the query with this name; a session has listeners for all its queries."""

    def __init__(
        self, name: str, topics: Sequence[str], on_progress: Callable[[Progress], None]
    ) -> None:
        self._name = name
        self._topics = topics
        self._on_progress = on_progress

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """The caller knows."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        report = json.loads(event.progress.json)
        if report["name"] == self._name:
            self._on_progress(read_progress(report, self._topics, time.time()))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing new to tell."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """The caller waits for that."""
