"""Requests on configs in a few words, and their answers as (code, message)."""

from collections.abc import Mapping

from barnabas_controller.managers.configs.incremental_alter_configs import (
    Operation,
    decide_incremental_alter_configs,
)
from barnabas_core.metadata.keyed_image import ConfigResource
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.controller_lab import ControllerLab

SET, DELETE, APPEND, SUBTRACT = Operation

OK = (ErrorCode.NONE, None)
Outcome = tuple[ErrorCode, str | None]


def altered(
    resource_type: int, name: str, *operations: tuple[str, int, str | None]
) -> AlterConfigsResource:
    configs = [AlterableConfig(name=k, config_operation=op, value=v) for k, op, v in operations]
    return AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=configs)


def ask_alter(
    lab: ControllerLab, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[Outcome]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = lab.decide(decide_incremental_alter_configs, request)
    asked = [(each.resource_type, each.resource_name) for each in resources]
    assert [(each.resource_type, each.resource_name) for each in answer.responses] == asked
    return [(ErrorCode(each.error_code), each.error_message) for each in answer.responses]


def alter_one(
    lab: ControllerLab, resource_type: int, name: str, *operations: tuple[str, int, str | None]
) -> Outcome:
    return ask_alter(lab, altered(resource_type, name, *operations))[0]


def configs_of(lab: ControllerLab, resource_type: int, name: str) -> Mapping[str, str]:
    return lab.image.configs.get(ConfigResource(resource_type, name), {})
