"""Who is who in a quorum: a node id names a process, a directory id names its disk (KIP-853).

A process that comes back with a new disk has the old node id but has lost what it promised, so it
must not answer for the old one: votes and positions belong to the pair.
"""

from typing import NamedTuple, NewType

NodeId = NewType("NodeId", int)

NO_DIRECTORY = bytes(16)
"""The directory is not known: voters named by configuration alone have none (kraft.version 0)."""

CLIENT = NodeId(-1)
"""The sender of an administrator's request; the driver routes the answer by its correlation."""


class ReplicaKey(NamedTuple):
    node_id: NodeId
    directory_id: bytes = NO_DIRECTORY

    @property
    def has_directory(self) -> bool:
        return self.directory_id != NO_DIRECTORY


class Endpoint(NamedTuple):
    listener: str
    host: str
    port: int


class VersionRange(NamedTuple):
    """The levels of the `kraft.version` feature that a node can run."""

    minimum: int
    maximum: int


KRAFT_VERSIONS = VersionRange(0, 1)
"""What this implementation can run: static voters, and voters in the log."""
