"""Barnabas for users: a whole Kafka cluster inside a Python process, and the `barnabas` command.

`EmbeddedCluster` is imported when it is asked for: the command must be able to complain about its
arguments without loading a broker.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.cluster import ClusterError, EmbeddedCluster

__all__ = ["ClusterError", "EmbeddedCluster"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from barnabas import cluster  # noqa: PLC0415 - see above

        return getattr(cluster, name)
    raise AttributeError(name)
