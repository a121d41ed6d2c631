"""What an audit found: figures per partition, defects with examples, and remarks.

A finding counts records (or offsets, or batches) and shows the first few. A remark is something
worth knowing that is no defect.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from barnabas_pipeline.audit.spec import Kind

Example = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Finding:
    kind: Kind
    count: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    record_count: int
    first_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ComparisonFigures:
    record_count: int
    against_count: int
    equal_count: int
    """Ids that are the same on both sides."""


@dataclass(frozen=True, slots=True)
class TimeFigures:
    """How many records per stretch of time, from the first one on."""

    first_at: datetime
    width_seconds: int
    counts: tuple[int, ...]


@dataclass(slots=True)
class Report:
    subject: str
    against: str | None = None
    partitions: list[PartitionFigures] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    comparison: ComparisonFigures | None = None
    times: TimeFigures | None = None

    @property
    def is_sound(self) -> bool:
        return not self.findings

    def add(self, findings: Sequence[Finding]) -> None:
        """In the order of kinds; those that found nothing are left out."""
        self.findings += [finding for finding in findings if finding.count]
        order = list(Kind)
        self.findings.sort(key=lambda finding: order.index(finding.kind))

    def count(self, kind: Kind) -> int:
        return sum(finding.count for finding in self.findings if finding.kind is kind)

    def to_json(self) -> str:
        document = {"verdict": "sound" if self.is_sound else "defects", **asdict(self)}
        return json.dumps(document, indent=2, default=plain) + "\n"


def plain(value: object) -> object:
    """Bytes as text where they are text, else in hexadecimal."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return bytes(value).hex()
    return str(value)
