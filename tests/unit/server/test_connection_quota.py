"""Who may connect: counted in all, by listener, and by address."""

import pytest

from barnabas_core.config.error import ConfigError
from barnabas_core.server.connection_quota import ConnectionLimits, ConnectionQuota

ONE, TWO = "192.0.2.1", "192.0.2.2"


def test_without_limits_everybody_may_come() -> None:
    quota = ConnectionQuota()

    assert [quota.admit("PLAINTEXT", ONE) for _ in range(1_000)] == [None] * 1_000


def test_all_listeners_of_a_node_count_together() -> None:
    quota = ConnectionQuota(ConnectionLimits(count_max=2))

    assert quota.admit("INSIDE", ONE) is None
    assert quota.admit("OUTSIDE", TWO) is None
    assert quota.admit("INSIDE", ONE) == "max.connections"
    quota.release("OUTSIDE", TWO)
    assert quota.admit("INSIDE", ONE) is None


def test_a_listener_has_a_limit_of_its_own() -> None:
    limits = ConnectionLimits.from_broker({"listener.name.outside.max.connections": "1"})
    quota = ConnectionQuota(limits)

    assert quota.admit("OUTSIDE", ONE) is None
    assert quota.admit("OUTSIDE", TWO) == "listener.name.outside.max.connections"
    assert quota.admit("INSIDE", TWO) is None


def test_an_address_has_its_share_and_some_have_another() -> None:
    limits = ConnectionLimits.from_broker(
        {"max.connections.per.ip": "1", "max.connections.per.ip.overrides": f"{TWO}:2, ::1:0"}
    )
    quota = ConnectionQuota(limits)

    assert [quota.admit("A", ONE), quota.admit("B", ONE)] == [None, "max.connections.per.ip"]
    assert [quota.admit("A", TWO) for _ in range(3)] == [None, None, "max.connections.per.ip"]
    assert quota.admit("A", "0:0::1") == "max.connections.per.ip"


def test_an_ipv4_client_of_an_ipv6_socket_is_the_same_client() -> None:
    quota = ConnectionQuota(ConnectionLimits(address_count_max=1))

    assert quota.admit("A", ONE) is None
    assert quota.admit("A", f"::ffff:{ONE}") == "max.connections.per.ip"
    quota.release("A", f"::ffff:{ONE}")
    assert quota.admit("A", ONE) is None


def test_who_is_refused_takes_no_room() -> None:
    quota = ConnectionQuota(ConnectionLimits(count_max=2, address_count_max=1))

    assert quota.admit("A", ONE) is None
    for _ in range(5):
        assert quota.admit("A", ONE) == "max.connections.per.ip"
    assert quota.admit("A", TWO) is None


def test_limits_change_while_it_counts() -> None:
    quota = ConnectionQuota()
    for _ in range(3):
        quota.admit("A", ONE)

    quota.limits = ConnectionLimits(count_max=2)
    assert quota.admit("A", ONE) == "max.connections"
    for _ in range(2):
        quota.release("A", ONE)
    assert quota.admit("A", ONE) is None


def test_who_comes_too_fast_waits_for_his_turn() -> None:
    limits = ConnectionLimits.from_broker({"max.connection.creation.rate": "10"})
    quota = ConnectionQuota(limits)

    delays_ms = [quota.delay_ms("A", 5_000) for _ in range(15)]
    assert delays_ms[:10] == [0] * 10
    assert delays_ms[10:] == [100, 200, 300, 400, 500]
    # Those who wait are counted, whenever they come.
    assert quota.delay_ms("B", 5_100) == 500
    assert quota.delay_ms("A", 60_000) == 0


def test_a_listener_has_a_rate_of_its_own() -> None:
    limits = ConnectionLimits.from_broker(
        {"listener.name.outside.max.connection.creation.rate": "1"}
    )
    quota = ConnectionQuota(limits)

    assert [quota.delay_ms("OUTSIDE", 5_000) for _ in range(3)] == [0, 1_000, 2_000]
    assert [quota.delay_ms("INSIDE", 5_000) for _ in range(3)] == [0, 0, 0]


def test_without_a_rate_nobody_waits() -> None:
    quota = ConnectionQuota()

    assert {quota.delay_ms("A", 5_000) for _ in range(1_000)} == {0}


@pytest.mark.parametrize("text", ["host.example:3", "192.0.2.1", "192.0.2.1:many", ":3"])
def test_an_override_is_an_address_and_a_number(text: str) -> None:
    with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip\.overrides: expected <IP"):
        ConnectionLimits.from_broker({"max.connections.per.ip.overrides": text})
