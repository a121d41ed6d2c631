"""Whether two ends of a stream belong together."""

from barnabas_core.links.item import PROTOCOL_VERSION, Hello
from barnabas_core.ports.link import Identity


def why_not(ours: Identity, hello: Hello) -> str | None:
    """The reason to refuse a stream, as the other end shall read it; None if there is none.

    A node that does not know its cluster yet, with an empty id, talks to any.
    """
    theirs = hello.identity
    if hello.protocol_version != PROTOCOL_VERSION:
        return (
            f"{_name(ours)} speaks version {PROTOCOL_VERSION} of the link protocol, "
            f"not {hello.protocol_version} as {_name(theirs)} does"
        )
    if ours.cluster_id and theirs.cluster_id and ours.cluster_id != theirs.cluster_id:
        return (
            f"{_name(ours)} is of cluster {ours.cluster_id}, "
            f"{_name(theirs)} is of cluster {theirs.cluster_id}"
        )
    return None


def _name(identity: Identity) -> str:
    return f"{identity.role} {identity.node_id}"
