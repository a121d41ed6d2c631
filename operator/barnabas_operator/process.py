"""The operator's process: the lease first, then everything else, as long as it is held."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kubernetes.aio import config as kube_config
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config.config_exception import ConfigException

from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog, LogFormat
from barnabas_core.runtime.process import CannotStart, run_process, settle
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_operator.handlers.watch import registry, watch
from barnabas_operator.kube.client import Kube
from barnabas_operator.kube.lease import Lease
from barnabas_operator.kube.reach import Reach
from barnabas_operator.observation import OperatorObservation
from barnabas_operator.ports import ClusterPorts
from barnabas_operator.service import OperatorService
from barnabas_operator.settings import BadSetting, Settings

_NAME: Final = "barnabas-operator"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"


def run(
    variables: Mapping[str, str] = os.environ,
    *,
    log_format: LogFormat = "console",
    log_level: str = "info",
) -> int:
    """The exit status."""
    log = EventLog(form=log_format, level=log_level)
    return run_process(_NAME, log, lambda end: _serve(variables, log, end))


async def connect(variables: Mapping[str, str]) -> Kube:
    """As a pod of the cluster, or with a kubeconfig."""
    configuration = Configuration()
    try:
        if _IN_CLUSTER in variables:
            kube_config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            await kube_config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except ConfigException as error:
        raise CannotStart(f"no way to Kubernetes: {error}") from error
    return Kube(ApiClient(configuration))


async def _serve(variables: Mapping[str, str], log: EventLog, end: asyncio.Event) -> int:
    try:
        settings = Settings.from_environment(variables)
    except BadSetting as error:
        raise CannotStart(str(error)) from error
    kube = await connect(variables)
    try:
        return await serve(settings, kube, log, end)
    finally:
        await kube.close()


async def serve(settings: Settings, kube: Kube, log: EventLog, end: asyncio.Event) -> int:
    clock = SystemClock()
    lease = Lease(kube, clock, (settings.own_namespace, _NAME), settings.pod_name)
    ports = ClusterPorts(clock, log)
    service = OperatorService(
        kube.while_allowed(lambda: lease.is_held),
        ports,
        settings.images,
        (clock, SystemRng(), log),
        namespaces=settings.namespaces,
        is_leader=lambda: lease.is_held,
    )
    reach = Reach(kube, clock, settings.namespaces)
    observation = OperatorObservation(
        service.figures, lambda: _not_alive(lease, service), reach.reason_not_ready, clock, log
    )
    supervisor = Supervisor(log)
    try:
        await observation.start("", settings.metrics_port)
    except OSError as error:
        raise CannotStart(f"cannot listen on port {settings.metrics_port}: {error}") from error
    supervisor.start("reach", reach.run)
    try:
        return await _lead(settings, lease, service, log, end)
    finally:
        await supervisor.stop()
        await observation.stop()
        await ports.close_all()


def _not_alive(lease: Lease, service: OperatorService) -> str | None:
    return service.reason_not_alive() if lease.is_held else None


async def _lead(
    settings: Settings, lease: Lease, service: OperatorService, log: EventLog, end: asyncio.Event
) -> int:
    log.info("waiting for the lease", namespace=settings.own_namespace, name=_NAME)
    if not await _unless(end, lease.acquire):
        return 0
    log.info("leads", holder=settings.pod_name)
    service.figures.leads = True
    service.begin()
    settle()
    stop = asyncio.Event()
    tasks = [
        asyncio.create_task(service.run(), name="rounds"),
        asyncio.create_task(
            watch(settings.namespaces, registry(service.on_cluster, service.on_topic), stop, end),
            name="watch",
        ),
        asyncio.create_task(lease.keep(), name="lease"),
    ]
    ending = asyncio.create_task(end.wait(), name="end")
    try:
        done, _ = await asyncio.wait([*tasks, ending], return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Another may lead by now, or will soon: whatever is under way here must not go on.
        service.figures.leads = False
        stop.set()
        for task in [*tasks, ending]:
            task.cancel()
        await asyncio.gather(*tasks, ending, return_exceptions=True)
    if ending in done:
        # Not before: a renewal that was under way would take it again.
        await lease.release()
        return 0
    for task in done:
        error = None if task.cancelled() else task.exception()
        log.error("ends", task=task.get_name(), reason=repr(error) if error else "lost")
    return 1


async def _unless(end: asyncio.Event, work: Callable[[], Awaitable[None]]) -> bool:
    """Whether it was done before the end came."""
    doing = asyncio.ensure_future(work())
    ending = asyncio.create_task(end.wait())
    try:
        await asyncio.wait([doing, ending], return_when=asyncio.FIRST_COMPLETED)
        if end.is_set():
            return False
        doing.result()
        return True
    finally:
        for task in (doing, ending):
            task.cancel()
        await asyncio.gather(doing, ending, return_exceptions=True)
