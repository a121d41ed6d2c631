"""Listeners, addresses and voters as they are spelt in properties."""

import pytest

from barnabas_core.config.error import ConfigError, ConflictingValues, InvalidValue
from barnabas_core.config.listener import (
    WILDCARD,
    Listener,
    parse_address,
    parse_listeners,
    parse_security_protocols,
    parse_voter,
)

PLAIN = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", "EXTERNAL": "SSL"}


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092, "PLAINTEXT")),
        ("PLAINTEXT://0.0.0.0:0", Listener("PLAINTEXT", WILDCARD, 0, "PLAINTEXT")),
        ("external://a-b.example.com:1", Listener("EXTERNAL", "a-b.example.com", 1, "SSL")),
        ("CONTROLLER://[::1]:9093", Listener("CONTROLLER", "::1", 9093, "PLAINTEXT")),
        ("CONTROLLER://[fe80::1%eth0]:9", Listener("CONTROLLER", "fe80::1%eth0", 9, "PLAINTEXT")),
    ],
)
def test_a_listener_is_a_name_a_host_and_a_port(text: str, listener: Listener) -> None:
    assert parse_listeners([text], PLAIN) == (listener,)
    assert parse_listeners([str(listener)], PLAIN) == (listener,)


@pytest.mark.parametrize(
    "text",
    ["PLAINTEXT", "PLAINTEXT://host", "://host:", "PLAINTEXT://ho st:1", "PLAINTEXT://host:-1",
     "PLAINTEXT://host:65536", "PLAINTEXT://host:99999999999999999999"],
)  # fmt: skip
def test_what_is_no_listener_is_refused_with_its_property(text: str) -> None:
    with pytest.raises(InvalidValue, match="listeners"):
        parse_listeners([text], PLAIN)


def test_a_listener_needs_a_security_protocol() -> None:
    with pytest.raises(ConfigError, match="No security protocol defined for listener INSIDE"):
        parse_listeners(["INSIDE://host:1"], PLAIN)


def test_names_and_ports_are_used_once() -> None:
    with pytest.raises(ConflictingValues, match="different name"):
        parse_listeners(["PLAINTEXT://a:1", "plaintext://b:2"], PLAIN)
    with pytest.raises(ConflictingValues, match="different port"):
        parse_listeners(["PLAINTEXT://a:1", "CONTROLLER://b:1"], PLAIN)


def test_one_port_serves_both_families_of_addresses() -> None:
    both = ["PLAINTEXT://127.0.0.1:1", "CONTROLLER://[::1]:1"]

    assert len(parse_listeners(both, PLAIN)) == 2
    with pytest.raises(ConflictingValues, match="different port"):
        parse_listeners([*both, "EXTERNAL://name:1"], PLAIN)
    with pytest.raises(ConflictingValues, match="different port"):
        parse_listeners(["PLAINTEXT://127.0.0.1:1", "CONTROLLER://127.0.0.2:1"], PLAIN)


def test_free_and_advertised_ports_may_be_the_same() -> None:
    free = ["PLAINTEXT://:0", "CONTROLLER://:0"]
    proxied = ["PLAINTEXT://a:443", "EXTERNAL://b:443"]

    assert len(parse_listeners(free, PLAIN)) == 2
    assert len(parse_listeners(proxied, PLAIN, distinct_ports=False)) == 2


def test_security_protocols_are_a_map_of_names() -> None:
    protocols = parse_security_protocols("inside:plaintext, OUTSIDE:SASL_SSL")

    assert protocols == {"INSIDE": "PLAINTEXT", "OUTSIDE": "SASL_SSL"}
    for wrong in ("INSIDE", "INSIDE:TLS", ":SSL"):
        with pytest.raises(InvalidValue, match=r"listener\.security\.protocol\.map"):
            parse_security_protocols(wrong)


def test_addresses_and_voters() -> None:
    assert parse_address("x", "host:1") == ("host", 1)
    assert parse_address("x", "[::1]:1") == ("::1", 1)
    assert parse_voter("3@host.example.com:9093") == (3, "host.example.com", 9093)


@pytest.mark.parametrize("text", ["host", ":1", "host:", "host:x", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="expected host:port"):
        parse_address("x", text)


@pytest.mark.parametrize("text", ["host:1", "x@host:1", "1@host", "1@2@host:1", "@host:1"])
def test_what_is_no_voter_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"controller\.quorum\.voters"):
        parse_voter(text)
