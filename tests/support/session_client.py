"""A consumer with a fetch session, calling the handler directly."""

from collections.abc import Mapping, Sequence

from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from barnabas_core.wire.messages.fetch_response import FetchResponse
from tests.support.broker_bench import TOPIC, TOPIC_ID, BrokerBench, context, value_of

MANY = 2**31 - 1


class SessionClient:
    """A consumer with a session: knows its id and its epoch."""

    def __init__(self, bench: BrokerBench, version: int = 12) -> None:
        self.bench = bench
        self.version = version
        self.session_id = 0
        self.epoch = 0
        self.fields: dict[str, int] = {}

    def request(
        self,
        offsets: Mapping[int, int],
        forgotten: Sequence[int] = (),
        *,
        max_bytes: int = MANY,
        topic_id: bytes = TOPIC_ID,
    ) -> FetchRequest:
        wanted = [
            FetchPartition(index, fetch_offset=offset, partition_max_bytes=max_bytes)
            for index, offset in offsets.items()
        ]
        return FetchRequest(
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=[FetchTopic(TOPIC, topic_id, wanted)] if wanted else [],
            forgotten_topics_data=(
                [ForgottenTopic(TOPIC, topic_id, list(forgotten))] if forgotten else []
            ),
            **self.fields,  # type: ignore[arg-type]
        )

    async def fetch(
        self,
        offsets: Mapping[int, int] | None = None,
        forgotten: Sequence[int] = (),
        *,
        max_bytes: int = MANY,
    ) -> dict[int, int]:
        """The bytes that each partition in the answer has."""
        response = await self.ask(self.request(offsets or {}, forgotten, max_bytes=max_bytes))
        assert response.error_code == 0
        self.session_id = response.session_id
        self.epoch += 1
        return sizes(response)

    async def ask(self, request: FetchRequest) -> FetchResponse:
        reply = self.begin(request)
        if isinstance(reply, Deferred):
            return await value_of(reply)
        return reply

    def begin(self, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
        reply = self.bench.fetch.handle(request, context(self.version))
        assert isinstance(reply, FetchResponse | Deferred)
        return reply


def sizes(response: FetchResponse) -> dict[int, int]:
    return {
        each.partition_index: len(each.records or b"")
        for topic in response.responses
        for each in topic.partitions
    }
