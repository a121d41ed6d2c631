"""What a broker makes of the lists of coordinators that controllers push."""

import asyncio
import io
from dataclasses import replace

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_core.links.coordinator_message import (
    LIVE_PUSH,
    LiveCoordinator,
    LiveList,
    encode_live,
)
from barnabas_core.ports.link import NO_EVENTS, Address
from barnabas_core.runtime.log_setup import EventLog

PLAIN = BrokerConfig(
    node_id=1, cluster_id="c", log_dirs=("/data",), listeners=(), internal=Address("b", 1),
    controllers=(Address("c", 1),),
)  # fmt: skip


def one(node_id: int, *, port: int = 1, role: str = "group") -> LiveCoordinator:
    return LiveCoordinator(role, node_id, bytes(16), Address("h", port))


def told(epoch: int, version: int, *members: LiveCoordinator, partial: bool = False) -> LiveList:
    return LiveList(epoch, version, partial, members)


def view_of(*lists: LiveList) -> CoordinatorView:
    view = CoordinatorView(EventLog(stream=io.StringIO()))
    for live in lists:
        view.take(live)
    return view


def node_ids(view: CoordinatorView, role: str = "group") -> list[int]:
    return [one.node_id for one in view.of(role)]


def test_it_knows_nobody_before_it_is_told() -> None:
    view = view_of()

    assert node_ids(view) == []
    assert not view.is_full


def test_a_newer_list_replaces_the_older_one() -> None:
    assert node_ids(view_of(told(1, 1, one(1), one(2)), told(1, 2, one(3)))) == [3]
    assert node_ids(view_of(told(1, 9, one(1)), told(2, 0, one(3)))) == [3]


def test_an_older_list_changes_nothing_whichever_way_it_came() -> None:
    assert node_ids(view_of(told(2, 1, one(1)), told(1, 9, one(2)))) == [1]
    assert node_ids(view_of(told(2, 1, one(1)), told(2, 1, one(2)))) == [1]


def test_absence_from_a_partial_list_means_nothing() -> None:
    view = view_of(told(1, 1, one(1), one(2, port=1)), told(2, 1, one(2, port=9), partial=True))

    assert node_ids(view) == [1, 2]
    assert view.of("group")[1].address.port == 9
    assert not view.is_full

    view.take(told(2, 2, one(2, port=9)))

    assert node_ids(view) == [2]
    assert view.is_full


def test_roles_are_kept_apart() -> None:
    view = view_of(told(1, 1, one(1), one(1, role="share")))

    assert node_ids(view) == [1]
    assert node_ids(view, "share") == [1]
    assert node_ids(view, "transaction") == []


def test_whoever_watches_hears_of_news_alone() -> None:
    view = view_of(told(1, 1))
    heard: list[int] = []
    view.watch(lambda: heard.append(1))

    view.take(told(1, 1, one(1)))
    assert heard == []
    view.take(told(1, 2, one(1)))
    assert heard == [1]


def test_what_cannot_be_read_is_told_and_left_out() -> None:
    lines = io.StringIO()
    view = CoordinatorView(EventLog(stream=lines))

    asyncio.run(view.on_push(LIVE_PUSH, b"\x01"))
    asyncio.run(view.on_push(LIVE_PUSH + 1, encode_live(told(1, 1, one(1)))))
    assert node_ids(view) == []
    asyncio.run(view.on_push(LIVE_PUSH, encode_live(told(1, 1, one(1)))))

    assert node_ids(view) == [1]
    assert lines.getvalue().count("was not read") == 1


def test_a_coordinator_in_the_process_is_known_and_no_controller_is_heard() -> None:
    log = EventLog(stream=io.StringIO())
    local = CoordinatorView.for_broker(replace(PLAIN, local_coordinator=Address("in", 1)), log)
    remote = CoordinatorView.for_broker(replace(PLAIN, has_remote_coordinators=True), log)
    neither = CoordinatorView.for_broker(PLAIN, log)

    assert [it.address for it in local.of("group")] == [Address("in", 1)]
    assert (local.is_full, local.can_have_any, local.events) == (True, True, NO_EVENTS)
    assert (remote.of("group"), remote.can_have_any) == ([], True)
    assert remote.events.on_push is not None
    assert (neither.can_have_any, neither.events) == (False, NO_EVENTS)
