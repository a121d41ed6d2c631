"""Which access control entries a filter means.

A filter leaves open what it does not care for: null texts, ANY for types. Its pattern type says how
its name is compared: LITERAL and PREFIXED name one stored pattern, ANY the pattern of either type,
MATCH every pattern that covers a resource of that name.
"""

from typing import Final, NamedTuple

from barnabas_core.metadata.keyed_image import Acl

UNKNOWN: Final = 0
ANY: Final = 1
"""Of every kind below: in filters only."""

MATCH: Final = 2
LITERAL: Final = 3
PREFIXED: Final = 4

RESOURCE_TYPES: Final = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
}
PATTERN_TYPES: Final = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    MATCH: "MATCH",
    LITERAL: "LITERAL",
    PREFIXED: "PREFIXED",
}
OPERATIONS: Final = {
    UNKNOWN: "UNKNOWN",
    ANY: "ANY",
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
PERMISSION_TYPES: Final = {UNKNOWN: "UNKNOWN", ANY: "ANY", 2: "DENY", 3: "ALLOW"}

CLUSTER: Final = 4
CLUSTER_NAME: Final = "kafka-cluster"
WILDCARD: Final = "*"


class AclFilter(NamedTuple):
    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission_type: int = ANY

    def fault(self) -> str | None:
        """None if every part of it is known; else Kafka's message (INVALID_REQUEST)."""
        if not (_known(self.resource_type, RESOURCE_TYPES) and self.has_known_pattern_type):
            return "Unknown patternFilter."
        if not (
            _known(self.operation, OPERATIONS) and _known(self.permission_type, PERMISSION_TYPES)
        ):
            return "Unknown entryFilter."
        return None

    @property
    def has_known_pattern_type(self) -> bool:
        return _known(self.pattern_type, PATTERN_TYPES)

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type not in (ANY, MATCH, acl.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type != MATCH:
            return self.resource_name == acl.resource_name
        if acl.pattern_type == PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


def _known(value: int, names: dict[int, str]) -> bool:
    return value != UNKNOWN and value in names
