"""What a node's properties say about who is trusted, and what of it we can do."""

from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.own_property import TLS_PROPERTIES
from barnabas_core.security.tls import InternalTls


def internal_tls(properties: NodeProperties) -> InternalTls | None:
    """For the links between processes; None: they are plain."""
    if not properties.has_internal_tls:
        return None
    paths = [properties.text(name) for name in TLS_PROPERTIES]
    assert all(paths), "checked when the properties were read"
    return InternalTls(*(path or "" for path in paths))
