"""Which heartbeats can be answered while nothing can be written."""

from typing import Any

from barnabas_coordinator.shard.decision import Context, Request
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from tests.support.consumer_lab import GROUP, ConsumerLab

WHO = Context(1, "client", "/127.0.0.1")


def would_write(lab: ConsumerLab, epoch: int, who: Context = WHO, **fields: Any) -> bool:  # noqa: ANN401
    message = ConsumerGroupHeartbeatRequest(GROUP, "m", epoch, **fields)
    assert message.KEY is not None
    return lab.machine.would_write(Request(1, message.KEY, message, who), lab.env)


def test_a_member_that_has_all_it_shall_have_just_goes_on(lab: ConsumerLab) -> None:
    epoch = lab.beat("m").member_epoch

    assert not would_write(lab, epoch)


def test_who_joins_leaves_or_is_not_known_may_write(lab: ConsumerLab) -> None:
    assert would_write(lab, 2)
    lab.beat("m")

    assert would_write(lab, 0, subscribed_topic_names=["t"])
    assert would_write(lab, -1)


def test_who_says_something_new_may_write(lab: ConsumerLab) -> None:
    epoch = lab.beat("m").member_epoch

    assert would_write(lab, epoch, subscribed_topic_names=["u"])
    assert would_write(lab, epoch, rebalance_timeout_ms=1)
    assert would_write(lab, epoch, WHO._replace(client_id="another"))


def test_who_is_behind_its_group_may_write(lab: ConsumerLab) -> None:
    epoch = lab.beat("m").member_epoch
    lab.beat("other")

    assert would_write(lab, epoch)


def test_who_would_wait_for_an_assignment_may_write(lab: ConsumerLab) -> None:
    epoch = lab.beat("m").member_epoch
    lab.post("other")

    assert would_write(lab, epoch)
    lab.do_jobs()


def test_who_would_begin_an_assignment_may_write() -> None:
    lab = ConsumerLab({"t": 4}, consumer_assignment_interval_ms=1_000)
    lab.post("m")
    lab.do_jobs()
    lab.answers.clear()
    epoch = lab.group.members["m"].epoch
    assert not would_write(lab, epoch)

    lab.post("other")
    assert lab.jobs == []
    assert would_write(lab, epoch)
