"""Figures as Prometheus reads them: its text format, version 0.0.4.

All figures of a metric stand together, whichever source they are from. A broker of ten thousand
partitions has many; so the event loop gets its turn between slices, and the text is never whole
in memory before it is sent.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from barnabas_core.runtime.metrics.definition import Metric
from barnabas_core.runtime.metrics.histogram import BOUNDS_S, Histogram
from barnabas_core.runtime.metrics.registry import NODE_LABEL, Figure, Registry

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Figures between two turns of the event loop: about a millisecond.
_SLICE_COUNT: Final = 500
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_BOUND_LABELS: Final = tuple(f'le="{bound:.9g}"' for bound in BOUNDS_S)


async def render(registry: Registry) -> AsyncIterator[str]:
    """The text, a metric at a time."""
    families: dict[str, tuple[Metric, list[str]]] = {}
    count = 0
    for node_id, source in registry.sources:
        for figure in source():
            if figure is None:
                await asyncio.sleep(0)
                continue
            metric = figure.metric
            family = families.get(metric.name)
            if family is None:
                family = families[metric.name] = (metric, [])
            family[1].extend(_lines(figure, node_id))
            count += 1
            if count % _SLICE_COUNT == 0:
                await asyncio.sleep(0)
    for name in sorted(families):
        metric, lines = families.pop(name)
        yield f"{_head(metric)}{''.join(lines)}"


def _head(metric: Metric) -> str:
    meaning = metric.meaning.replace("\\", "\\\\").replace("\n", " ")
    return f"# HELP {metric.name} {meaning}\n# TYPE {metric.name} {metric.type.value}\n"


def _lines(figure: Figure, node_id: str) -> list[str]:
    metric, values, value = figure
    labels = [
        f'{name}="{text.translate(_ESCAPES)}"'
        for name, text in zip(metric.labels, values, strict=True)
    ]
    if node_id:
        labels.insert(0, f'{NODE_LABEL}="{node_id}"')
    if isinstance(value, Histogram):
        return _histogram(metric.name, labels, value)
    shown = f"{{{','.join(labels)}}}" if labels else ""
    return [f"{metric.name}{shown} {_number(value)}\n"]


def _histogram(name: str, labels: list[str], value: Histogram) -> list[str]:
    shared = "".join(f"{label}," for label in labels)
    lines = [
        f"{name}_bucket{{{shared}{bound}}} {count}\n"
        for bound, count in zip(_BOUND_LABELS, value.cumulative(), strict=True)
    ]
    shown = f"{{{','.join(labels)}}}" if labels else ""
    count = value.count
    return [
        *lines,
        f'{name}_bucket{{{shared}le="+Inf"}} {count}\n',
        f"{name}_sum{shown} {value.total_s!r}\n",
        f"{name}_count{shown} {count}\n",
    ]


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    if value == float("-inf"):
        return "-Inf"
    return "NaN" if value != value else repr(value + 0)
