"""What an audit looks at, and for what.

An endpoint is where records are: a topic on a cluster, the segments of a topic in log directories,
or a Parquet table. Ids, sequences and contents are SQL expressions over an endpoint's columns, with
one short form: `header:NAME` is the value of the last header of that name.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from barnabas_pipeline.pipeline_error import PipelineError


class BadSpec(PipelineError):
    """The audit as described cannot be made."""


class Kind(StrEnum):
    """What can be wrong, in the order of a report."""

    DAMAGED = "damaged batch"
    GAP = "gap"
    REPEATED_OFFSET = "repeated offset"
    PRODUCER_SEQUENCE = "producer out of sequence"
    TIMESTAMP_BACK = "timestamp goes back"
    SEQUENCE_BACK = "sequence goes back"
    SEQUENCE_REPEATED = "sequence number repeated"
    SEQUENCE_SKIPPED = "sequence number skipped"
    REPEATED_ID = "repeated id"
    MISSING = "missing"
    DOUBLED = "doubled"
    DIFFERENT = "different"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class TopicEndpoint:
    bootstrap_servers: str
    topic: str
    options: dict[str, str] = field(default_factory=dict)
    """More of the Kafka source's, for instance `kafka.security.protocol`."""

    def __str__(self) -> str:
        return f"topic {self.topic} at {self.bootstrap_servers}"


@dataclass(frozen=True, slots=True)
class SegmentsEndpoint:
    paths: tuple[str, ...]
    topic: str
    includes_active: bool = False

    def __str__(self) -> str:
        return f"segments of {self.topic} in {', '.join(self.paths)}"


@dataclass(frozen=True, slots=True)
class TableEndpoint:
    path: str

    def __str__(self) -> str:
        return f"table {self.path}"


Endpoint = TopicEndpoint | SegmentsEndpoint | TableEndpoint


@dataclass(frozen=True, slots=True)
class Against:
    """What the records are compared with, and by what."""

    endpoint: Endpoint
    id: tuple[str, ...] = ()
    """Empty: the same as of the audited records."""
    content: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditSpec:
    endpoint: Endpoint
    id: tuple[str, ...] = ()
    """What no two records have in common; empty: nothing is such."""
    checks_timestamps: bool = False
    """Whether within a partition time never goes back."""
    sequence: str | None = None
    """A number that rises by one from record to record."""
    sequence_per: tuple[str, ...] = ()
    """Of all records with the same; empty: of a partition."""
    may_have_gaps: bool = False
    """Compaction, markers and aborted transactions leave gaps, which only segments explain."""
    content: tuple[str, ...] = ()
    """What must be the same in both; empty: key, value and headers, where both have them."""
    against: Against | None = None
    example_count: int = 20

    def __post_init__(self) -> None:
        if self.against is not None and not self.id:
            raise BadSpec("a comparison needs an id: what tells that two records are the same?")
        if self.against is not None:
            _check_counts("--against-id", self.against.id, "--id", self.id)
            _check_counts("--against-content", self.against.content, "--content", self.content)
        if isinstance(self.endpoint, TableEndpoint) and self.against is None and not self.id:
            raise BadSpec("a table without an id or a comparison has nothing to be checked for")


def _check_counts(name: str, given: tuple[str, ...], other: str, wanted: tuple[str, ...]) -> None:
    """What is called otherwise over there stands for what is called so here, one for one."""
    if given and len(given) != len(wanted):
        raise BadSpec(f"{name} is there {len(given)} times and {other} {len(wanted)}: one for one")
