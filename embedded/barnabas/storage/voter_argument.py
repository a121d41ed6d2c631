"""The first voters, as `--initial-controllers id@host:port:directory,...` or `--standalone` say."""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas_core.config.listener import EVERY_ADDRESS, PORT_MAX
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.config.own_property import INTERNAL_NAME
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.wire.primitive import uuid_from_text


class BadVoter(Exception):
    """The text names no voter."""


class InitialVoter(NamedTuple):
    node_id: int
    host: str
    port: int
    directory_id: bytes
    internal_host: str = ""
    """Where it serves our own links, if that is known to be another host."""


def parse_initial_voters(text: str) -> tuple[InitialVoter, ...]:
    voters = tuple(_parse_voter(part.strip()) for part in text.strip().split(",") if part)
    if not voters:
        raise BadVoter("No voters given.")
    seen = set()
    for voter in voters:
        if voter.node_id in seen:
            raise BadVoter(f"Node id {voter.node_id} was specified more than once.")
        seen.add(voter.node_id)
    return voters


def _parse_voter(text: str) -> InitialVoter:
    node_id, separator, rest = text.partition("@")
    if not separator:
        raise BadVoter(f"No @ found in dynamic voter string {text!r}.")
    host, rest = _split_host(rest)
    port, separator, directory_id = rest.removeprefix(":").partition(":")
    if not rest.startswith(":") or not separator:
        raise BadVoter(f"No colon following port could be found in {text!r}.")
    try:
        return InitialVoter(
            _number(node_id, INT32_MAX), host, _number(port, PORT_MAX), uuid_from_text(directory_id)
        )
    except ValueError as error:
        raise BadVoter(f"expected id@host:port:directory, got {text!r}: {error}") from error


def _split_host(text: str) -> tuple[str, str]:
    """(host, the rest from the colon on)."""
    if text.startswith("["):
        host, separator, rest = text[1:].partition("]")
        if not separator:
            raise BadVoter("Hostname began with left bracket, but no right bracket was found.")
    else:
        host, colon, rest = text.partition(":")
        rest = colon + rest
    if not host:
        raise BadVoter("No hostname found after node id.")
    return host, rest


def _number(text: str, largest: int) -> int:
    number = parse_whole(text, INT32_MAX)
    if not 0 <= number <= largest:
        raise ValueError(f"{number} is not between 0 and {largest}")
    return number


def standalone_voter(node: NodeProperties, directory_id: bytes) -> InitialVoter:
    """The node itself, where it is advertised or listens."""
    listener = node.advertised_controller_listeners[0]
    host = listener.host or "localhost"
    internal = node.internal_listener.host if node.has_internal_listener else ""
    internal_host = host if internal in EVERY_ADDRESS else internal
    return InitialVoter(node.node_id, host, listener.port, directory_id, internal_host)


def voter_set(node: NodeProperties, voters: Iterable[InitialVoter]) -> VoterSet:
    """The voters with their endpoints, the same whichever node of the quorum works them out.

    Where `internal.listener` is set, each has an endpoint on its port too: of the others a node
    knows no more than the host, so controllers share that port.
    """
    return VoterSet.of(
        Voter(ReplicaKey(NodeId(voter.node_id), voter.directory_id), _endpoints(node, voter))
        for voter in voters
    )


def _endpoints(node: NodeProperties, voter: InitialVoter) -> tuple[Endpoint, ...]:
    controller = Endpoint(node.controller_listener_names[0], voter.host, voter.port)
    if not node.has_internal_listener:
        return (controller,)
    internal_host = voter.internal_host or voter.host
    return controller, Endpoint(INTERNAL_NAME, internal_host, node.internal_listener.port)
