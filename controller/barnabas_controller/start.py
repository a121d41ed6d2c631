"""From a node's properties and its formatted directory to a controller that runs."""

from barnabas_controller.controller_config import controller_config
from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.log.error import LogError
from barnabas_core.metadata.bootstrap import CorruptBootstrap, load_bootstrap
from barnabas_core.ports import DiskError
from barnabas_core.runtime.process import CannotStart


async def start_controller(
    properties: NodeProperties, meta: MetaProperties, incarnation_id: bytes, on: ControllerPorts
) -> ControllerService:
    """`meta` is that of the metadata directory. `CannotStart` with whatever has to change."""
    directory = properties.metadata_log_dir
    assert meta.directory_id is not None
    config = controller_config(properties, meta.cluster_id, meta.directory_id)
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
