"""From a node's properties and its formatted directory to a controller that runs."""

import socket

from barnabas_controller.controller_config import ControllerConfig, controller_config
from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.log.error import LogError
from barnabas_core.metadata.bootstrap import CorruptBootstrap, load_bootstrap
from barnabas_core.ports import DiskError
from barnabas_core.runtime.process import CannotStart


def node_controller_config(properties: NodeProperties, meta: MetaProperties) -> ControllerConfig:
    """`meta` is that of the metadata directory."""
    assert meta.directory_id is not None
    # Asking for it may take a while, where names are not served well.
    is_asked = any(not one.host for one in properties.advertised_controller_listeners)
    host_name = socket.getfqdn() if is_asked else ""
    return controller_config(properties, meta.cluster_id, meta.directory_id, host_name)


async def start_controller(
    config: ControllerConfig, incarnation_id: bytes, on: ControllerPorts
) -> ControllerService:
    """`CannotStart` with whatever has to change."""
    directory = config.quorum.metadata_dir
    try:
        bootstrap = load_bootstrap(on.disk, directory)
        service = ControllerService(config, bootstrap.records, incarnation_id, on)
        await service.start()
    except (CorruptBootstrap, CorruptFile, LogError) as error:
        raise CannotStart(f"{directory}: {error}") from error
    except DiskError as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(f"cannot listen: {error}") from error
    return service
