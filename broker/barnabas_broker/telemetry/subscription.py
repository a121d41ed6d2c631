"""Which metrics a client is asked for, and how often: the client-metrics resources of the image.

Every resource whose `match` fits the client has its part: the metrics are put together, and the
shortest interval wins. `*` asks for all metrics. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from crc32c import crc32c

from barnabas_core.config.definition import Kind, definitions
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import CLIENT_METRICS_RESOURCE
from barnabas_core.wire.primitive import uuid_text

ALL_METRICS: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class ClientTraits:
    """What a `match` can ask about."""

    client_instance_id: bytes
    client_id: str
    software_name: str
    software_version: str
    host: str
    port: int

    def of(self, name: str) -> str:
        texts = {
            "client_instance_id": uuid_text(self.client_instance_id),
            "client_id": self.client_id,
            "client_software_name": self.software_name,
            "client_software_version": self.software_version,
            "client_source_address": self.host,
            "client_source_port": str(self.port),
        }
        return texts.get(name, "")


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one client is told."""

    id: int
    metrics: tuple[str, ...]
    interval_ms: int


@dataclass(frozen=True, slots=True)
class _Resource:
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, re.Pattern[str]]

    def fits(self, client: ClientTraits) -> bool:
        return all(pattern.fullmatch(client.of(name)) for name, pattern in self.patterns.items())


class Subscriptions:
    """Those of one image."""

    def __init__(self, image: Image) -> None:
        self._resources = tuple(_resources(image))

    def of(self, client: ClientTraits) -> Subscription:
        fitting = [one for one in self._resources if one.fits(client)]
        metrics = tuple(dict.fromkeys(name for one in fitting for name in one.metrics))
        if ALL_METRICS in metrics:
            metrics = (ALL_METRICS,)
        interval_ms = min((one.interval_ms for one in fitting), default=DEFAULT_INTERVAL_MS)
        return Subscription(_id(metrics, interval_ms, client), metrics, interval_ms)


def _resources(image: Image) -> Iterator[_Resource]:
    table = definitions(Kind.CLIENT_METRICS)
    for resource, configs in image.configs.items():
        if resource.type != CLIENT_METRICS_RESOURCE:
            continue
        values = {name: prop.default for name, prop in table.items()}
        # The controller has checked them.
        values |= {name: table[name].parse(text) for name, text in configs.items() if name in table}
        yield _Resource(
            tuple(filter(None, cast("tuple[str, ...]", values["metrics"] or ()))),
            cast("int", values["interval.ms"]),
            dict(_pattern(text) for text in cast("tuple[str, ...]", values["match"] or ()) if text),
        )


def _pattern(text: str) -> tuple[str, re.Pattern[str]]:
    name, _, expression = text.partition("=")
    return name.strip(), re.compile(expression.strip())


def _id(metrics: tuple[str, ...], interval_ms: int, client: ClientTraits) -> int:
    """Another one whenever anything is different that the client was told."""
    told = "\0".join((*metrics, str(interval_ms))).encode() + client.client_instance_id
    value = crc32c(told)
    return value - (1 << 32) if value >= 1 << 31 else value
