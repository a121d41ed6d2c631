"""Topics created one after the other in a thread, while a test does things to the controllers."""

import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

from barnabas_core.metadata.image import Image
from barnabas_core.wire.messages.topic_record import TopicRecord
from tests.support.controller_admin import Admin, Creation
from tests.support.controller_process import Quorum, until
from tests.support.metadata_files import log_records


class TopicStream:
    """Runs while it is entered. `created` are those that were acknowledged, in order."""

    def __init__(self, quorum: Quorum, prefix: str = "topic", timeout_s: float = 1) -> None:
        self._quorum = quorum
        self._prefix = prefix
        self._timeout_s = timeout_s
        self._end = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)
        self.created: list[Creation] = []
        self.times: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "topics are still being created"
        if exc is None and self._failure is not None:
            raise self._failure

    def wait_for(self, more: int, *, by_other_than: int | None = None) -> float:
        """Until so many more are acknowledged; the seconds that took."""
        start = len(self.created)

        def are_there() -> bool:
            if self._failure is not None:
                raise self._failure
            new = self.created[start:]
            return sum(one.node_id != by_other_than for one in new) >= more

        return until(are_there, f"{more} more topics")

    def longest_gap_s(self) -> float:
        """Between two acknowledgements."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return max((after - before for before, after in pairs), default=0.0)

    def _run(self) -> None:
        try:
            with Admin(self._quorum, self._timeout_s) as admin:
                while not self._end.is_set():
                    name = f"{self._prefix}-{len(self.created)}"
                    self.created.append(admin.create_topic(name, partitions=2, replicas=2))
                    self.times.append(time.monotonic())
        except BaseException as error:
            self._failure = error  # raised again where the test waits

    # --- what must have come of it

    def check_image(self, image: Image) -> None:
        """Every topic that was acknowledged is there, under the id that was told."""
        for one in self.created:
            topic = image.topics.named(one.name)
            assert topic is not None, f"{one} was acknowledged and is not there"
            assert one.topic_id in (None, topic.id), f"{one} has id {topic.id!r}"
            assert len(topic.partitions) == 2, topic

    def check_log(self, quorum: Quorum) -> None:
        """Nothing was created twice, in the log of any controller."""
        for node in quorum.nodes.values():
            records = [one for one in log_records(node.metadata) if isinstance(one, TopicRecord)]
            counts = Counter(record.name for record in records)
            assert counts, f"controller {node.id} has no topics"
            assert max(counts.values()) == 1, f"controller {node.id}: {counts.most_common(3)}"
