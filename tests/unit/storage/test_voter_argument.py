"""The first voters: from the command line, with the endpoints of the node's listeners."""

import pytest

from barnabas.storage.voter_argument import (
    BadVoter,
    InitialVoter,
    parse_initial_voters,
    standalone_voter,
    voter_set,
)
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.server_properties import node_properties
from barnabas_core.raft.identity import Endpoint
from barnabas_core.wire.primitive import uuid_from_text

ID = "JEXY6aqzQY-32P5TStzaFg"
OTHER_ID = "MvDxzVmcRsaTz33bUuRU6A"


def controller(node_id: int, extra: dict[str, str]) -> NodeProperties:
    properties = {
        "process.roles": "controller",
        "node.id": str(node_id),
        "controller.quorum.bootstrap.servers": "h:1",
        "listeners": "CONTROLLER://:9093",
        "controller.listener.names": "CONTROLLER",
    }
    return node_properties(properties | extra, {}, lambda _: None)


def endpoints(node: NodeProperties, voters: tuple[InitialVoter, ...]) -> list[Endpoint]:
    return [endpoint for voter in voter_set(node, voters) for endpoint in voter.endpoints]


def test_a_voter_is_an_id_an_address_and_a_directory() -> None:
    voters = parse_initial_voters(f"0@example.com:8082:{ID},1@[::1]:8083:{OTHER_ID}, ")

    assert voters == (
        InitialVoter(0, "example.com", 8082, uuid_from_text(ID)),
        InitialVoter(1, "::1", 8083, uuid_from_text(OTHER_ID)),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "No voters given"),
        ("host:1", "No @ found"),
        (f"x@h:1:{ID}", "not a whole number"),
        (f"-1@h:1:{ID}", "is not between 0 and"),
        (f"@h:1:{ID}", "not a whole number"),
        ("1@", "No hostname found"),
        (f"1@:1:{ID}", "No hostname found"),
        (f"1@[::1:1:{ID}", "no right bracket"),
        (f"1@[::1]1:{ID}", "No colon"),
        ("1@h", "No colon"),
        ("1@h:1", "No colon following port"),
        (f"1@h:x:{ID}", "not a whole number"),
        (f"1@h:65536:{ID}", "65536 is not between 0 and 65535"),
        ("1@h:1:short", "not a uuid"),
        (f"1@h:1:{ID},1@i:1:{OTHER_ID}", "Node id 1 was specified more than once"),
    ],
)
def test_what_is_no_voter_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadVoter) as raised:
        parse_initial_voters(text)

    assert reason in str(raised.value)


def test_a_node_alone_is_where_it_is_advertised_or_listens() -> None:
    plain = controller(1, {})
    advertised = controller(1, {"advertised.listeners": "CONTROLLER://c1.example.com:9193"})

    assert standalone_voter(plain, b"d").host == "localhost"
    assert standalone_voter(advertised, b"d")[:4] == (1, "c1.example.com", 9193, b"d")


def test_voters_are_reached_on_the_first_controller_listener() -> None:
    node = controller(
        1,
        {
            "listeners": "ADMIN://:1,CONTROLLER://:2",
            "controller.listener.names": "CONTROLLER,ADMIN",
            "listener.security.protocol.map": "ADMIN:PLAINTEXT,CONTROLLER:PLAINTEXT",
        },
    )

    voters = voter_set(node, parse_initial_voters(f"2@h2:20:{OTHER_ID},1@h1:10:{ID}"))

    assert voters.ids == (1, 2)
    first, second = voters.voters
    assert first.endpoints == (Endpoint("CONTROLLER", "h1", 10),)
    assert second.key.directory_id == uuid_from_text(OTHER_ID)


def test_an_internal_listener_that_was_set_is_written_down() -> None:
    node = controller(1, {"internal.listener": ":7000"})

    alone = (standalone_voter(node, b"d"),)
    assert endpoints(node, alone) == [
        Endpoint("CONTROLLER", "localhost", 9093),
        Endpoint("INTERNAL", "localhost", 7000),
    ]
    elsewhere = controller(1, {"internal.listener": "10.0.0.1:7000"})
    assert endpoints(elsewhere, (standalone_voter(elsewhere, b"d"),))[1].host == "10.0.0.1"


def test_all_nodes_of_a_quorum_write_the_same_voters() -> None:
    voters = parse_initial_voters(f"1@h1:10:{ID},2@h2:10:{OTHER_ID}")
    first = controller(1, {"internal.listener": "10.0.0.1:7000"})
    second = controller(2, {"internal.listener": "10.0.0.2:7000"})

    assert voter_set(first, voters) == voter_set(second, voters)
    assert [one.host for one in endpoints(first, voters)] == ["h1", "h1", "h2", "h2"]
