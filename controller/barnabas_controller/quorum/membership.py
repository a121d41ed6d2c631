"""Who this node is to the core, and whom it knows before it has read a voters record."""

from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.ports.link import Address
from barnabas_core.raft import LocalReplica, Membership, NodeId, NodeSetup, ReplicaKey
from barnabas_core.raft.internal_address import internal_address, shifted

_FIRST_BOOTSTRAP_ID = -2


def bootstrap_addresses(config: QuorumConfig) -> dict[NodeId, Address]:
    """By the ids under which the core knows them; not our own, which would tell us nothing."""
    own = internal_address(config.endpoints, config.internal_port_offset)
    found = {}
    for index, server in enumerate(config.bootstrap_servers):
        address = Address(server.host, shifted(server.port, config.internal_port_offset))
        if address != own:
            found[NodeId(_FIRST_BOOTSTRAP_ID - index)] = address
    return found


def node_setup(config: QuorumConfig, bootstrap: dict[NodeId, Address]) -> NodeSetup:
    key = ReplicaKey(NodeId(config.node_id), config.directory_id)
    membership = Membership(config.static_voters, tuple(bootstrap))
    return NodeSetup(LocalReplica(key, config.endpoints), membership, config.raft)
