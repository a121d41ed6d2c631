"""The `log.cleaner.*` properties of a broker that no topic overrides."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from sys import float_info
from typing import Any

from barnabas_core.config.definition import Kind, definition


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    """One log is cleaned at a time: `log.cleaner.threads` is accepted and changes nothing."""

    is_enabled: bool = True
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 128 * 1024 * 1024
    load_factor: float = 0.9
    io_buffer_bytes: int = 512 * 1024
    io_bytes_per_second: float = float_info.max

    @classmethod
    def from_broker(cls, properties: Mapping[str, str]) -> "CleanerSettings":
        """`ConfigError` if one is wrong; other properties are ignored."""
        values: dict[str, Any] = {
            name: definition(Kind.BROKER, property_name).parse(properties[property_name])
            for name, property_name in PROPERTIES.items()
            if property_name in properties
        }
        return cls(**values)


PROPERTIES = {
    "is_enabled": "log.cleaner.enable",
    "backoff_ms": "log.cleaner.backoff.ms",
    "dedupe_buffer_bytes": "log.cleaner.dedupe.buffer.size",
    "load_factor": "log.cleaner.io.buffer.load.factor",
    "io_buffer_bytes": "log.cleaner.io.buffer.size",
    "io_bytes_per_second": "log.cleaner.io.max.bytes.per.second",
}
assert PROPERTIES.keys() == {it.name for it in fields(CleanerSettings)}
