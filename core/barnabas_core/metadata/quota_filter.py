"""Which client quotas a filter means (KIP-546).

Quotas belong to an entity: a user, a client id, both together, or an IP address; each by name, or
by default. A filter names parts of entities. An entity matches if it has all of them, and, where
the filter is strict, no other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas_core.metadata.keyed_image import QuotaEntity, QuotasImage

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

EXACT: Final = 0
DEFAULT: Final = 1
SPECIFIED: Final = 2
"""Of any name, or the default."""


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    names: Mapping[str, str | None] = field(default_factory=dict)
    """Entity type to the name it must have, None for the default."""
    any_name: Sequence[str] = ()
    is_strict: bool = False

    def matches(self, entity: QuotaEntity) -> bool:
        parts = dict(entity)
        if self.is_strict and len(parts) != len(self.names) + len(self.any_name):
            return False
        has_types = all(each in parts for each in (*self.names, *self.any_name))
        return has_types and all(parts[each] == name for each, name in self.names.items())

    def matching(self, quotas: QuotasImage) -> list[tuple[QuotaEntity, Mapping[str, float]]]:
        return [each for each in quotas.items() if self.matches(each[0])]
