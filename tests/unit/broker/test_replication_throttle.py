"""KIP-73: who is behind may be slowed down, who keeps up never is."""

import pytest

from barnabas_broker.replication.throttle import (
    FOLLOWER,
    LEADER,
    NO_LIMIT,
    ReplicationQuota,
    ReplicationThrottle,
)
from barnabas_core.config.error import ConfigError

LISTED = {
    "one": {"leader.replication.throttled.replicas": "0:1, 1:2"},
    "all": {"leader.replication.throttled.replicas": "*"},
    "none": {},
}


def throttle(rate: str = "1000") -> ReplicationThrottle:
    made = ReplicationThrottle(lambda topic: LISTED[topic])
    made.set_rates({"leader.replication.throttled.rate": rate})
    return made


def test_what_is_listed_is_throttled() -> None:
    made = throttle()

    assert made.is_listed(LEADER, "one", 0, 1)
    assert made.is_listed(LEADER, "one", 1, 2)
    assert not made.is_listed(LEADER, "one", 1, 1)
    assert made.is_listed(LEADER, "all", 9, 9)
    assert not made.is_listed(LEADER, "none", 0, 1)
    assert not made.is_listed(FOLLOWER, "one", 0, 1)


def test_without_a_rate_nothing_is_throttled() -> None:
    made = throttle()
    made.set_rates({})

    assert not made.is_listed(LEADER, "all", 0, 1)
    assert made.quotas[LEADER].bytes_per_s == NO_LIMIT


def test_a_rate_that_is_none_leaves_the_one_before() -> None:
    made = throttle()
    with pytest.raises(ConfigError):
        made.set_rates({"leader.replication.throttled.rate": "fast"})

    assert made.quotas[LEADER].bytes_per_s == 1000


def test_over_time_no_more_goes_than_the_rate() -> None:
    quota = ReplicationQuota(1_000)
    now_ms = sent = 0
    while now_ms < 60_000:
        delay_ms = quota.delay_ms(now_ms)
        if delay_ms:
            now_ms += delay_ms
        else:
            quota.spend(300, now_ms)
            sent += 300

    assert 59_000 <= sent <= 61_000


def test_a_rate_of_nothing_sends_nothing() -> None:
    quota = ReplicationQuota(0)

    assert all(quota.delay_ms(now_ms) > 0 for now_ms in range(0, 100_000, 1_000))
