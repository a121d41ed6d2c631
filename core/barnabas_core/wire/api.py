"""The apis of Kafka 4.4: versions, header versions, listeners, and classes loaded on first use."""

from dataclasses import dataclass
from functools import cached_property

from barnabas_core.wire.api_key import API_ROWS, ApiKey
from barnabas_core.wire.catalog import message_class
from barnabas_core.wire.schema import NEVER_FLEXIBLE, Message

__all__ = ["API_BY_KEY", "ApiInfo", "ApiKey"]


@dataclass(frozen=True)
class ApiInfo:
    """One api.

    The advertised range is what ApiVersions answers: v0-v2 of Produce are listed but not served.
    """

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    max_unstable_version: int
    flexible_from: int
    advertised_min: int
    advertised_max: int
    listeners: tuple[str, ...]
    is_cluster_action: bool
    is_forwardable: bool

    @cached_property
    def request(self) -> type[Message]:
        return message_class(f"{self.name}Request")

    @cached_property
    def response(self) -> type[Message]:
        return message_class(f"{self.name}Response")

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def request_header_version(self, version: int) -> int:
        return 2 if version >= self.flexible_from else 1

    def response_header_version(self, version: int) -> int:
        # KIP-511: a client that does not know our versions yet must be able to read this answer.
        if self.key is ApiKey.API_VERSIONS:
            return 0
        return 1 if version >= self.flexible_from else 0


def _infos() -> dict[int, ApiInfo]:
    infos = {}
    for key, name, low, high, unstable, flexible, shown_low, shown_high, where, *flags in API_ROWS:
        infos[key] = ApiInfo(
            key=ApiKey(key),
            name=name,
            min_version=low,
            max_version=high,
            max_unstable_version=unstable,
            flexible_from=NEVER_FLEXIBLE if flexible is None else flexible,
            advertised_min=shown_low,
            advertised_max=shown_high,
            listeners=tuple(where.split("|")),
            is_cluster_action=flags[0],
            is_forwardable=flags[1],
        )
    return infos


API_BY_KEY = _infos()
