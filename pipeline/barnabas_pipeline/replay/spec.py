"""What to replay, and as what."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas_pipeline.pipeline_error import PipelineError


class BadReplay(PipelineError):
    """The replay as described cannot be made."""


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """Key, value, headers and partition are SQL expressions over the table's columns."""

    path: str
    bootstrap_servers: str
    topic: str
    key: str | None = None
    """None: the column `key` if there is one."""
    value: str = "value"
    headers: str | None = None
    """None: the column `headers` if there is one."""
    partition: str | None = None
    """None: as the producer decides, by the key."""
    order_by: tuple[str, ...] = ()
    """Records of one partition, or else of one key, are sent in this order."""
    rows_per_second: float | None = None
    checkpoint: str | None = None
    """Where to remember what is done; without one, each run starts from the beginning."""
    files_per_step: int | None = None
    """A run that was stopped repeats the step that it was in; None: all files are one step."""
    options: dict[str, str] = field(default_factory=dict)
    """More of the Kafka sink's, for instance `kafka.security.protocol`."""

    def __post_init__(self) -> None:
        if self.rows_per_second is not None and self.rows_per_second <= 0:
            raise BadReplay("a rate is more than 0 rows per second")
        if self.files_per_step is not None and self.files_per_step < 1:
            raise BadReplay("a step is at least one file")


def projection(spec: ReplaySpec, columns: Sequence[str]) -> list[str]:
    """The sink's columns as SQL, from a table that has `columns`."""
    if spec.value == "value" and "value" not in columns:
        raise BadReplay("the table has no column `value`: say what to send, as to_json(struct(*))")
    parts = {
        "key": spec.key or _named("key", columns),
        "value": spec.value,
        "headers": spec.headers or _named("headers", columns),
        "partition": None if spec.partition is None else f"cast({spec.partition} as int)",
    }
    return [f"{text} as {name}" for name, text in parts.items() if text is not None]


def _named(name: str, columns: Sequence[str]) -> str | None:
    return name if name in columns else None
