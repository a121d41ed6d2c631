"""Every api that a controller decides, by key.

What every start needs is imported here. The rest is imported with the first request of its kind:
half of all that a controller can decide is what administrators ask for, and a cluster that starts
should not wait for it.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.brokers.apis import APIS as BROKERS
from barnabas_controller.managers.partitions.apis import APIS as PARTITIONS
from barnabas_controller.managers.producer_ids.apis import APIS as PRODUCER_IDS
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.api import ApiKey

LATER: Final[Mapping[str, tuple[ApiKey, ...]]] = {
    "acls": (ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS),
    "configs": (
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.LIST_CONFIG_RESOURCES,
    ),
    "features": (ApiKey.UPDATE_FEATURES,),
    "quotas": (ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS),
    "scram": (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
    "topics": (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS),
}
"""By package; what they decide is for clients, never a cluster action."""


def decided_apis() -> dict[ApiKey, Api]:
    apis: dict[ApiKey, Api] = {}
    later = (_later(package, key) for package, keys in LATER.items() for key in keys)
    for api in (*BROKERS, *PARTITIONS, *PRODUCER_IDS, *later):
        assert api.key not in apis, f"{api.key.name} is decided twice"
        apis[api.key] = api
    return apis


def _later(package: str, key: ApiKey) -> Api:
    def decide(
        view: View,
        request: Any,  # noqa: ANN401 - of the class that the key stands for
        context: Context,
    ) -> Result[Any]:
        return apis_of(package)[key].decide(view, request, context)

    return Api(key, decide)


def apis_of(package: str) -> dict[ApiKey, Api]:
    module = import_module(f"barnabas_controller.managers.{package}.apis")
    return {api.key: api for api in module.APIS}
