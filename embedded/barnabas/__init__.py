"""Barnabas for users: a whole Kafka cluster inside a Python process, and the `barnabas` command.

Each name is imported when it is asked for: the command must be able to complain about its
arguments, and pytest to start with the plugin, without loading a broker.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.async_cluster import AsyncCluster
    from barnabas.cluster import EmbeddedCluster
    from barnabas.cluster_error import ClusterError
    from barnabas.cluster_options import ClusterOptions
    from barnabas.faults import Fault, Faults
    from barnabas_core.wire.api import ApiKey
    from barnabas_core.wire.error_code import ErrorCode

__all__ = [
    "ApiKey",
    "AsyncCluster",
    "ClusterError",
    "ClusterOptions",
    "EmbeddedCluster",
    "ErrorCode",
    "Fault",
    "Faults",
]

_MODULE_OF: Final = {
    "ApiKey": "barnabas_core.wire.api",
    "AsyncCluster": "barnabas.async_cluster",
    "ClusterError": "barnabas.cluster_error",
    "ClusterOptions": "barnabas.cluster_options",
    "EmbeddedCluster": "barnabas.cluster",
    "ErrorCode": "barnabas_core.wire.error_code",
    "Fault": "barnabas.faults",
    "Faults": "barnabas.faults",
}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(name)
    return getattr(import_module(module), name)
