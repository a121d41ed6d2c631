"""Topics created, changed and deleted through librdkafka's admin client, many in one request.

Its futures are resolved by a thread of librdkafka's; the event loop waits for them.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

from barnabas_operator.health.cluster_port import Unavailable
from barnabas_operator.plan.topic_state import (
    AddPartitions,
    AlterTopicConfig,
    CreateTopic,
    DeleteTopic,
    TopicAction,
)

T = TypeVar("T")
_TIMEOUT_S: Final = 30.0
BATCH_MAX: Final = 200
_SILENT: Final = logging.getLogger("barnabas_operator.librdkafka")
"""Brokers that come and go are nothing to tell of: what fails is told by whoever asked."""
_SILENT.setLevel(logging.CRITICAL)
_LEFT_TO_CLUSTER: Final = -1
_AS_ASKED: Final = frozenset({"TOPIC_ALREADY_EXISTS", "UNKNOWN_TOPIC_OR_PART"})
"""Of a creation and of a deletion that were carried out before: the next look tells."""
_PASSING: Final = frozenset(
    {
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_CONTROLLER",
        "REQUEST_TIMED_OUT",
        "THROTTLING_QUOTA_EXCEEDED",
        "_ALL_BROKERS_DOWN",
        "_TIMED_OUT",
        "_TRANSPORT",
    }
)


class TopicAdmin:
    def __init__(self, bootstrap_servers: Callable[[], str]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client: Any = None
        self._servers = ""
        """Of the client that there is."""

    async def close(self) -> None:
        clients, self._client = [self._client], None
        # The last reference: librdkafka then waits for the end of its own threads.
        await asyncio.to_thread(clients.clear)

    async def carry_out(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        """Topics for which something was refused, with the reason; the others are as asked."""
        refused: dict[str, str] = {}
        steps: Sequence[tuple[type, Callable[..., Mapping[str, Future[Any]]]]] = (
            (DeleteTopic, _delete),
            (CreateTopic, _create),
            (AddPartitions, _add_partitions),
            (AlterTopicConfig, _alter),
        )
        for kind, ask in steps:
            wanted = [one for one in actions if isinstance(one, kind)]
            for start in range(0, len(wanted), BATCH_MAX):
                batch = wanted[start : start + BATCH_MAX]
                refused |= await self._results(partial(ask, wanted=batch))
        return refused

    async def _results(self, ask: Callable[[Any], Mapping[str, Future[Any]]]) -> Mapping[str, str]:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - loaded when first needed

        refused = {}
        futures = await asyncio.to_thread(lambda: ask(self._admin()))
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                for topic, future in futures.items():
                    try:
                        await asyncio.wrap_future(future)
                    except KafkaException as error:
                        reason = _refusal(error.args[0])
                        if reason:
                            refused[topic] = reason
        except TimeoutError:
            raise Unavailable("the brokers did not answer in time") from None
        return refused

    def _admin(self) -> Any:
        servers = self._bootstrap_servers()
        if self._client is None or servers != self._servers:
            # One that was told of other servers would never find its way.
            self._servers = servers
            config = {"bootstrap.servers": servers, "client.id": "barnabas-operator"}
            self._client = _library().AdminClient(config, logger=_SILENT)
        return self._client


def _library() -> Any:
    import confluent_kafka.admin  # noqa: PLC0415 - loaded when first needed

    return confluent_kafka.admin


def _create(client: Any, wanted: list[CreateTopic]) -> Mapping[str, Future[Any]]:
    admin = _library()
    topics = [
        admin.NewTopic(
            one.topic,
            num_partitions=one.partitions or _LEFT_TO_CLUSTER,
            replication_factor=one.replicas or _LEFT_TO_CLUSTER,
            config=dict(one.config),
        )
        for one in wanted
    ]
    return client.create_topics(topics, request_timeout=_TIMEOUT_S)  # type: ignore[no-any-return]


def _add_partitions(client: Any, wanted: list[AddPartitions]) -> Mapping[str, Future[Any]]:
    admin = _library()
    asked = [admin.NewPartitions(one.topic, one.count) for one in wanted]
    return client.create_partitions(asked, request_timeout=_TIMEOUT_S)  # type: ignore[no-any-return]


def _delete(client: Any, wanted: list[DeleteTopic]) -> Mapping[str, Future[Any]]:
    return client.delete_topics(  # type: ignore[no-any-return]
        [one.topic for one in wanted], request_timeout=_TIMEOUT_S
    )


def _alter(client: Any, wanted: list[AlterTopicConfig]) -> Mapping[str, Future[Any]]:
    admin = _library()
    resources = []
    for one in wanted:
        entries = [
            admin.ConfigEntry(
                name,
                value,
                incremental_operation=(
                    admin.AlterConfigOpType.DELETE if value is None else admin.AlterConfigOpType.SET
                ),
            )
            for name, value in one.changes.items()
        ]
        resources.append(
            admin.ConfigResource(admin.ResourceType.TOPIC, one.topic, incremental_configs=entries)
        )
    found = client.incremental_alter_configs(resources, request_timeout=_TIMEOUT_S)
    return {resource.name: future for resource, future in found.items()}


def _refusal(error: Any) -> str:
    """Empty if it is as asked, or will be asked again anyway. `Unavailable` if it may pass."""
    name = error.name()
    if name in _AS_ASKED:
        return ""
    if name in _PASSING:
        raise Unavailable(error.str())
    return f"{name}: {error.str()}"
