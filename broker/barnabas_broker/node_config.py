"""What a broker is told at its start, from the properties of its node."""

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_settings import with_properties
from barnabas_core.config.advertised import advertised_listeners, internal_host
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.links.known_controllers import known_controllers
from barnabas_core.ports.link import Address


def broker_config(properties: NodeProperties, cluster_id: str, host_name: str) -> BrokerConfig:
    """`host_name`: what others call this machine, where no property says it."""
    advertised = advertised_listeners(properties, lambda: host_name)
    internal = properties.internal_listener
    config = BrokerConfig(
        node_id=properties.node_id,
        cluster_id=cluster_id,
        log_dirs=properties.log_dirs,
        listeners=properties.broker_listeners,
        advertised=advertised,
        internal=Address(internal.host, internal.port),
        internal_host=internal_host(properties, advertised),
        controllers=known_controllers(properties),
        has_remote_coordinators=properties.has_remote_coordinators,
    )
    return with_properties(config, properties.raw)
