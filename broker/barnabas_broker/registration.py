"""What a broker tells the controller of itself."""

from collections.abc import Sequence

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.directory_facts import DirectoryFacts
from barnabas_core.config.listener import SECURITY_PROTOCOLS
from barnabas_core.config.listener import Listener as ListenerAddress
from barnabas_core.metadata.node_features import local_features
from barnabas_core.ports.link import Address
from barnabas_core.raft.internal_address import INTERNAL_LISTENER
from barnabas_core.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)


def internal_listener(at: Address) -> ListenerAddress:
    """Registered besides the listeners for clients: where other brokers find this one's links."""
    return ListenerAddress(INTERNAL_LISTENER, at.host, at.port, "PLAINTEXT")


def registration_request(
    config: BrokerConfig,
    advertised: Sequence[ListenerAddress],
    incarnation_id: bytes,
    directories: DirectoryFacts,
) -> BrokerRegistrationRequest:
    listeners = [
        Listener(at.name, at.host, at.port, SECURITY_PROTOCOLS.index(at.security_protocol))
        for at in advertised
    ]
    return BrokerRegistrationRequest(
        broker_id=config.node_id,
        cluster_id=config.cluster_id,
        incarnation_id=incarnation_id,
        listeners=listeners,
        features=[Feature(one.name, one.minimum, one.maximum) for one in local_features()],
        rack=config.rack,
        log_dirs=directories.ids,
        previous_broker_epoch=directories.previous_broker_epoch,
    )
