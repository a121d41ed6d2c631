"""AlterConfigs and IncrementalAlterConfigs: what a broker does itself, and what it passes on."""

import asyncio

from barnabas_broker.handlers.alter_configs import AlterConfigsHandler
from barnabas_broker.handlers.incremental_alter_configs import IncrementalAlterConfigsHandler
from barnabas_broker.loggers import Loggers
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.runtime.log_levels import LogLevels
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.server.error_response import error_response
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import alter_configs_request as legacy
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.schema import Message
from tests.support.broker_bench import context

NODE_ID = 1
SET, DELETE, APPEND, SUBTRACT = range(4)
REFUSED = ErrorCode.INVALID_REQUEST
PASSED_ON = (ErrorCode.POLICY_VIOLATION, "from the controller")


class Controller:
    """Refuses everything, so that its answers can be told apart."""

    def __init__(self) -> None:
        self.requests: list[Message] = []

    async def forward(self, key: ApiKey, request: Message, context: RequestContext) -> Message:
        self.requests.append(request)
        return error_response(key, request, *PASSED_ON)


class Bench:
    def __init__(self) -> None:
        self.levels = LogLevels("INFO")
        self.levels.add("barnabas.storage")
        self.controller = Controller()
        self.loggers = Loggers(NODE_ID, self.levels)

    def alter(
        self, *resources: AlterConfigsResource, validate_only: bool = False
    ) -> list[tuple[int, str | None]]:
        handler = IncrementalAlterConfigsHandler(NODE_ID, self.loggers, self.controller)
        request = IncrementalAlterConfigsRequest(list(resources), validate_only)
        response = asyncio.run(handler.handle(request, context(1)))
        asked = [(one.resource_type, one.resource_name) for one in resources]
        assert [(one.resource_type, one.resource_name) for one in response.responses] == asked
        return [(one.error_code, one.error_message) for one in response.responses]


def resource(
    resource_type: int, name: str, *configs: tuple[str, int, str | None]
) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type, name, [AlterableConfig(key, how, value) for key, how, value in configs]
    )


def loggers(*configs: tuple[str, int, str | None], name: str = "1") -> AlterConfigsResource:
    return resource(BROKER_LOGGER_RESOURCE, name, *configs)


def test_a_loggers_level_is_set_here_and_nobody_else_is_asked() -> None:
    bench = Bench()

    assert bench.alter(loggers(("barnabas.storage", SET, "DEBUG"))) == [(0, None)]

    assert bench.levels.level_of("barnabas.storage") == "DEBUG"
    assert bench.controller.requests == []


def test_a_loggers_level_is_taken_back() -> None:
    bench = Bench()
    bench.levels.set("barnabas.storage", "ERROR")

    assert bench.alter(loggers(("barnabas.storage", DELETE, None))) == [(0, None)]

    assert bench.levels.level_of("barnabas.storage") == "INFO"


def test_checking_alone_changes_nothing() -> None:
    bench = Bench()

    assert bench.alter(loggers(("root", SET, "TRACE")), validate_only=True) == [(0, None)]

    assert bench.levels.level_of("root") == "INFO"


def test_loggers_and_others_are_answered_in_the_order_of_the_request() -> None:
    bench = Bench()
    topic = resource(TOPIC_RESOURCE, "a", ("retention.ms", SET, "1"))
    other = resource(TOPIC_RESOURCE, "b", ("retention.ms", SET, "1"))

    answers = bench.alter(topic, loggers(("root", SET, "WARN")), other)

    assert answers == [PASSED_ON, (0, None), PASSED_ON]
    (forwarded,) = bench.controller.requests
    assert isinstance(forwarded, IncrementalAlterConfigsRequest)
    assert [one.resource_name for one in forwarded.resources] == ["a", "b"]


def test_one_wrong_level_leaves_all_as_they_were() -> None:
    bench = Bench()

    ((error, message),) = bench.alter(
        loggers(("root", SET, "DEBUG"), ("barnabas.storage", SET, "LOUD"))
    )

    assert error == ErrorCode.INVALID_CONFIG
    assert message == (
        "Cannot set the log level of barnabas.storage to LOUD as it is not a supported log level. "
        "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
    )
    assert bench.levels.level_of("root") == "INFO"


def test_what_loggers_do_not_know_is_refused_with_kafkas_words() -> None:
    bench = Bench()
    logger_only = "is not allowed for the BROKER_LOGGER resource"
    wrong = [
        (loggers(("x", SET, "INFO")), ErrorCode.INVALID_CONFIG, "Logger x does not exist!"),
        (
            loggers(("root", DELETE, None)),
            REFUSED,
            "Removing the log level of the root logger is not allowed",
        ),
        (loggers(("root", APPEND, "INFO")), REFUSED, f"APPEND operation {logger_only}"),
        (loggers(("root", 9, "INFO")), REFUSED, f"Unknown operation type 9 {logger_only}"),
        (loggers(("root", SET, None)), REFUSED, "Null value not supported for : root"),
        (loggers(name="2"), REFUSED, "Unexpected node id. Expected 1, but received 2"),
        (loggers(name="x"), REFUSED, "Node id must be an integer, but it is: x"),
        (
            loggers(("root", SET, "INFO"), ("root", DELETE, None)),
            REFUSED,
            "Error due to duplicate config keys",
        ),
    ]
    for asked, error, message in wrong:
        assert bench.alter(asked) == [(error, message)]


def test_another_brokers_configs_are_refused() -> None:
    bench = Bench()

    answers = bench.alter(
        resource(BROKER_RESOURCE, "2"),
        resource(BROKER_RESOURCE, ""),
        resource(BROKER_RESOURCE, "1"),
    )

    assert answers == [
        (REFUSED, "Unexpected broker id, expected 1, but received 2"),
        PASSED_ON,
        PASSED_ON,
    ]


def test_a_resource_twice_in_a_request_is_refused() -> None:
    bench = Bench()

    answers = bench.alter(loggers(("root", SET, "WARN")), resource(TOPIC_RESOURCE, "a"), loggers())

    twice = (REFUSED, "Each resource must appear at most once.")
    assert answers == [twice, PASSED_ON, twice]
    assert bench.levels.level_of("root") == "INFO"


def test_a_resource_of_no_known_type_is_refused() -> None:
    assert Bench().alter(resource(77, "a")) == [(REFUSED, "Unknown resource type 77")]


def test_the_old_way_alters_no_loggers() -> None:
    controller = Controller()
    handler = AlterConfigsHandler(NODE_ID, controller)
    request = legacy.AlterConfigsRequest(
        [
            legacy.AlterConfigsResource(BROKER_LOGGER_RESOURCE, "1"),
            legacy.AlterConfigsResource(TOPIC_RESOURCE, "a"),
        ]
    )

    response = asyncio.run(handler.handle(request, context(2)))

    assert [(one.error_code, one.error_message) for one in response.responses] == [
        (REFUSED, "Unknown resource type 8"),
        PASSED_ON,
    ]
    (forwarded,) = controller.requests
    assert isinstance(forwarded, legacy.AlterConfigsRequest)
    assert [one.resource_name for one in forwarded.resources] == ["a"]
