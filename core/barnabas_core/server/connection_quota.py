"""How many connections a node accepts: in all, by listener, and by the address of the peer.

Kafka's `max.connections` (with `listener.name.<name>.` before it: of one listener),
`max.connections.per.ip` and `max.connections.per.ip.overrides`. One quota counts for all listeners
of a node. Nobody who is connected is cut off when a limit is lowered. Those who come faster than
`max.connection.creation.rate` (per second, in all or of one listener) are let in and served later.

Two differences from Kafka: who comes beyond `max.connections` is turned away and not left waiting,
so that a client tries another broker; and no listener is spared, since brokers talk to each other
over links that are counted nowhere here.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.error import InvalidValue
from barnabas_core.config.number import INT32_MAX, parse_whole

IN_ALL: Final = "max.connections"
CREATION_RATE: Final = "max.connection.creation.rate"
BY_ADDRESS: Final = "max.connections.per.ip"
OVERRIDES: Final = "max.connections.per.ip.overrides"


def listener_property(listener: str, name: str) -> str:
    """The name of a property where it is for one listener."""
    return f"listener.name.{listener.lower()}.{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    count_max: int = INT32_MAX
    listener_count_max: Mapping[str, int] = field(default_factory=dict)
    """By the name of the listener in small letters; where none is named, there is no such limit."""
    rate_max: int = INT32_MAX
    """Connections per second."""
    listener_rate_max: Mapping[str, int] = field(default_factory=dict)
    address_count_max: int = INT32_MAX
    address_overrides: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_broker(cls, properties: Mapping[str, str]) -> "ConnectionLimits":
        """`ConfigError` if one is wrong; other properties are ignored."""
        overrides = properties.get(OVERRIDES, "")
        return cls(
            count_max=_number(IN_ALL, properties.get(IN_ALL)),
            listener_count_max=_by_listener(IN_ALL, properties),
            rate_max=_number(CREATION_RATE, properties.get(CREATION_RATE)),
            listener_rate_max=_by_listener(CREATION_RATE, properties),
            address_count_max=_number(BY_ADDRESS, properties.get(BY_ADDRESS)),
            address_overrides=parse_overrides(overrides),
        )


def _number(name: str, text: str | None) -> int:
    prop = definitions(Kind.BROKER)[name]
    value = prop.default if text is None else prop.parse(text)
    assert isinstance(value, int)
    return value


def _by_listener(wanted: str, properties: Mapping[str, str]) -> dict[str, int]:
    limits = {}
    for name, text in properties.items():
        prefix, _, rest = name.partition("listener.name.")
        listener, _, base = rest.partition(".")
        if not prefix and base == wanted:
            limits[listener] = _number(wanted, text)
    return limits


def parse_overrides(text: str) -> dict[str, int]:
    """`address:count,...`; Kafka takes names of hosts too, and asks for their address once."""
    counts = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        address, _, digits = pair.rpartition(":")
        try:
            known = _address(address.strip("[] "))
            counts[known] = parse_whole(digits.strip(), INT32_MAX)
        except ValueError as error:
            reason = f"expected <IP address>:<count> in {pair!r}"
            raise InvalidValue(OVERRIDES, text, reason) from error
    return counts


def _address(text: str) -> str:
    """One spelling for each address; an IPv4 client of an IPv6 socket is an IPv4 client."""
    address: IPv4Address | IPv6Address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


class _Turns:
    """When the next one may be served, if so many are per second: a second's worth at once."""

    __slots__ = ("_free_at_ms",)

    def __init__(self) -> None:
        self._free_at_ms = 0.0

    def delay_ms(self, rate_max: int, now_ms: int) -> float:
        if rate_max == INT32_MAX:
            return 0
        # A rate of nothing is one of next to nothing: nobody could ever undo it.
        self._free_at_ms = max(self._free_at_ms, now_ms - 1000) + 1000 / max(rate_max, 1)
        return max(self._free_at_ms - now_ms, 0)


class ConnectionQuota:
    """Counts what was admitted; `limits` may be replaced at any time."""

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.limits = limits or ConnectionLimits()
        self._count = 0
        self._turns = _Turns()
        self._listener_turns: defaultdict[str, _Turns] = defaultdict(_Turns)
        self._by_listener: Counter[str] = Counter()
        self._by_address: Counter[str] = Counter()

    def admit(self, listener: str, host: str) -> str | None:
        """The property that forbids it; None if there is room, which is taken."""
        address, limits = _key(host), self.limits
        if self._count >= limits.count_max:
            return IN_ALL
        listener_max = limits.listener_count_max.get(listener.lower(), INT32_MAX)
        if self._by_listener[listener] >= listener_max:
            return listener_property(listener, IN_ALL)
        if self._by_address[address] >= self._address_max(address):
            return BY_ADDRESS
        self._count += 1
        self._by_listener[listener] += 1
        self._by_address[address] += 1
        return None

    def delay_ms(self, listener: str, now_ms: int) -> int:
        """How long one that was admitted just now has to wait for its turn."""
        rate_max = self.limits.listener_rate_max.get(listener.lower(), INT32_MAX)
        own_ms = self._listener_turns[listener].delay_ms(rate_max, now_ms)
        return math.ceil(max(own_ms, self._turns.delay_ms(self.limits.rate_max, now_ms)))

    def release(self, listener: str, host: str) -> None:
        """One that was admitted has gone."""
        address = _key(host)
        assert self._by_address[address] > 0, address
        self._count -= 1
        self._by_listener[listener] -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            # Whoever comes from ever new addresses must not leave a trace of each.
            del self._by_address[address]

    def _address_max(self, address: str) -> int:
        return self.limits.address_overrides.get(address, self.limits.address_count_max)


def _key(host: str) -> str:
    if ":" not in host:
        return host
    try:
        return _address(host)
    except ValueError:
        return host
