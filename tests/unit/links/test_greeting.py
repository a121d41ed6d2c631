"""Who talks to whom."""

import pytest

from barnabas_core.links.greeting import why_not
from barnabas_core.links.item import Hello
from barnabas_core.ports.link import Identity


def identity(cluster_id: str, node_id: int = 1) -> Identity:
    return Identity(cluster_id, node_id, "broker")


@pytest.mark.parametrize(("ours", "theirs"), [("a", "a"), ("a", ""), ("", "a"), ("", "")])
def test_the_same_cluster_or_one_that_is_not_known_yet(ours: str, theirs: str) -> None:
    assert why_not(identity(ours), Hello(identity(theirs))) is None


def test_another_cluster_is_told_both_names() -> None:
    reason = why_not(identity("a", 3), Hello(identity("b", 4)))

    assert reason == "broker 3 is of cluster a, broker 4 is of cluster b"


def test_another_version_is_refused_even_of_the_same_cluster() -> None:
    reason = why_not(identity("a"), Hello(identity("a", 4), protocol_version=2))

    assert reason is not None
    assert "version 1 of the link protocol, not 2" in reason
