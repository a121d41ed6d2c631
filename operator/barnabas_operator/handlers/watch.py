"""Watches resources and the children of clusters with kopf; every event is a poke.

Only raw events are handled: kopf keeps no state in annotations and adds no finalizers, so nothing
is written where nothing changed, and nothing waits for an operator that is not there. A watch that
dies unseen costs little: all resources are listed again every minute.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Final

import kopf

from barnabas_core.runtime.process import heed_signals
from barnabas_operator.api.kinds import GROUP, VERSION
from barnabas_operator.reconcile.topics import cluster_of
from barnabas_operator.specs.names import CLUSTER_LABEL

_LABELS: Final = {CLUSTER_LABEL: kopf.PRESENT}
_CHILDREN: Final = (("", "v1", "pods"), ("apps", "v1", "statefulsets"))
_SERVER_TIMEOUT_S: Final = 300
_INACTIVITY_S: Final = 70

Poke = Callable[[str, str], None]
"""With namespace and name of a cluster."""


async def watch(
    namespaces: Collection[str],
    found: kopf.OperatorRegistry,
    stop: asyncio.Event,
    end: asyncio.Event,
) -> None:
    """Until it is told to stop. `end` is what a signal to the process sets."""
    others = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=found,
        settings=_settings(),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=list(namespaces),
        stop_flag=stop,
    )
    # kopf takes SIGTERM for itself: the process would end without giving up its lease.
    heed_signals(end)
    # Whatever is not named here it takes for its own, and cancels at its end.
    await kopf.run_tasks(tasks, ignored=others)


def registry(on_cluster: Poke, on_topic: Poke) -> kopf.OperatorRegistry:
    found = kopf.OperatorRegistry()

    async def on_cluster_event(**event: Any) -> None:
        on_cluster(event["namespace"], event["name"])

    async def on_topic_event(**event: Any) -> None:
        on_topic(*cluster_of(event["body"]))

    async def on_child_event(**event: Any) -> None:
        on_cluster(event["namespace"], event["labels"][CLUSTER_LABEL])

    kopf.on.event(GROUP, VERSION, "kafkaclusters", registry=found)(on_cluster_event)
    kopf.on.event(GROUP, VERSION, "kafkatopics", registry=found)(on_topic_event)
    kopf.on.login(registry=found)(_login)
    for group, version, plural in _CHILDREN:
        kopf.on.event(group, version, plural, labels=_LABELS, registry=found)(on_child_event)
    return found


def _login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.watching.server_timeout = _SERVER_TIMEOUT_S
    settings.watching.inactivity_timeout = _INACTIVITY_S
    return settings
