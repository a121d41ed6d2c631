"""Asking for records: what a follower sends its leader, and anyone sends to find one."""

from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import FetchRequest

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


def fetch_from(quorum: "Quorum", target: NodeId) -> None:
    """Fetch at the log end, once all that was staged is durable: the leader counts on it."""
    if not quorum.outbox.is_durable or not quorum.can_ask(target, FetchRequest):
        return
    quorum.send(
        target,
        FetchRequest(
            quorum.requests.start(target, FetchRequest, quorum.now_ms),
            quorum.epoch,
            quorum.local.key,
            quorum.log.end_offset,
            quorum.log.last_epoch,
            quorum.high_watermark,
            quorum.config.fetch_max_wait_ms,
            quorum.config.fetch_max_bytes,
        ),
    )


def fetch_from_anyone(quorum: "Quorum") -> None:
    """Whoever is asked answers with what it knows of the leader."""
    if quorum.requests.has_any(FetchRequest):
        return
    known = (*quorum.history.voters.ids, *quorum.bootstrap_servers)
    peers = [node for node in dict.fromkeys(known) if quorum.can_ask(node, FetchRequest)]
    if peers:
        fetch_from(quorum, peers[quorum.rng.randrange(len(peers))])
