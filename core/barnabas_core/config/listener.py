"""Listeners: `NAME://host:port`, each name bound to a security protocol.

An empty host means every address; port 0 means any free one. Names are compared as Kafka writes
them, in capitals.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple

from barnabas_core.config.error import ConfigError, ConflictingValues, InvalidValue
from barnabas_core.config.number import INT32_MAX, parse_whole

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
WILDCARD = "0.0.0.0"  # noqa: S104 - refused as an advertised address, never bound
EVERY_ADDRESS = ("", WILDCARD, "::")
"""Hosts to listen on, by none of which a node can be reached."""
PORT_MAX = 65535

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_ADDRESS = re.compile(r"(?:.*://)?\[?([0-9a-zA-Z\-._]*|[0-9a-fA-F:.%]+)\]?:([0-9]+)")


class Listener(NamedTuple):
    name: str
    host: str
    """Empty: every address."""
    port: int
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(
    entries: Iterable[str],
    security_protocols: Mapping[str, str],
    *,
    name: str = "listeners",
    distinct_ports: bool = True,
) -> tuple[Listener, ...]:
    """The listeners of the property `name`, in order; `ConfigError` if they cannot be."""
    texts = [entry for entry in entries if entry]
    listeners = tuple(_parse_listener(name, text, security_protocols) for text in texts)
    shown = ",".join(texts)
    if len({listener.name for listener in listeners}) < len(listeners):
        raise ConflictingValues(f"Each listener must have a different name, {name}: {shown}")
    if distinct_ports:
        _check_ports(listeners, f"{name}: {shown}")
    return listeners


def _parse_listener(name: str, text: str, security_protocols: Mapping[str, str]) -> Listener:
    match = _LISTENER.fullmatch(text)
    if match is None:
        raise InvalidValue(name, text, "expected NAME://host:port")
    listener_name = match[1].upper()
    protocol = security_protocols.get(listener_name)
    if protocol is None:
        raise ConfigError(
            f"No security protocol defined for listener {listener_name} of {name}; "
            f"expected it in listener.security.protocol.map"
        )
    return Listener(listener_name, match[2], _parse_port(name, text, match[3]), protocol)


def _parse_port(name: str, text: str, digits: str) -> int:
    try:
        port = parse_whole(digits, INT32_MAX)
    except ValueError as error:
        raise InvalidValue(name, text, str(error)) from error
    if not 0 <= port <= PORT_MAX:
        raise InvalidValue(name, text, f"port {port} is not between 0 and {PORT_MAX}")
    return port


def _check_ports(listeners: Sequence[Listener], shown: str) -> None:
    """A port is used once, or by one IPv4 and one IPv6 address."""
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port != 0:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        families = sorted(_family(listener.host) for listener in sharing)
        if len(sharing) > 1 and families != [4, 6]:
            raise ConflictingValues(
                "Each listener must have a different port unless exactly one has an IPv4 and "
                f"the other an IPv6 address, {shown}, port: {port}"
            )


def _family(host: str) -> int:
    """4, 6, or 0 if it is a name."""
    for family, parse in ((4, IPv4Address), (6, IPv6Address)):
        try:
            parse(host)
        except AddressValueError:
            continue
        return family
    return 0


def parse_security_protocols(text: str) -> dict[str, str]:
    """`listener.security.protocol.map`: listener name to security protocol."""
    name = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        listener, separator, protocol = pair.rpartition(":")
        if not separator or not listener:
            raise InvalidValue(name, pair, "expected NAME:PROTOCOL")
        if protocol.strip().upper() not in SECURITY_PROTOCOLS:
            reason = f"Invalid security protocol; expected one of {', '.join(SECURITY_PROTOCOLS)}"
            raise InvalidValue(name, pair, reason)
        protocols[listener.strip().upper()] = protocol.strip().upper()
    return protocols


def parse_address(name: str, text: str, *, may_be_any: bool = False) -> tuple[str, int]:
    """(host, port) of `host:port` or `[address]:port`, as `controller.quorum.*` have it."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or not (match[1] or may_be_any):
        raise InvalidValue(name, text, "expected host:port")
    return match[1], _parse_port(name, text, match[2])


def parse_voter(text: str) -> tuple[int, str, int]:
    """(node id, host, port) of one `id@host:port` in `controller.quorum.voters`."""
    name = "controller.quorum.voters"
    voter_id, separator, address = text.strip().partition("@")
    if not separator or "@" in address:
        raise InvalidValue(name, text, "expected id@host:port")
    try:
        node_id = parse_whole(voter_id, INT32_MAX)
    except ValueError as error:
        raise InvalidValue(name, text, f"expected id@host:port, the id {error}") from error
    return node_id, *parse_address(name, address)
