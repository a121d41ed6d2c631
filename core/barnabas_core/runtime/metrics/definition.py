"""What a metric is, said once: its name, its labels, what it means, and what Kafka calls it.

Definitions stand beside the code that counts; `docs/metrics.md` is made from all of them.
"""

from dataclasses import dataclass
from enum import Enum


class MetricType(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    type: MetricType
    meaning: str
    labels: tuple[str, ...] = ()
    jmx: str = ""
    """The name in Kafka's JMX tree that it replaces; empty: it has none."""


def counter(name: str, meaning: str, *labels: str, jmx: str = "") -> Metric:
    assert name.endswith("_total"), name
    return Metric(name, MetricType.COUNTER, meaning, labels, jmx)


def gauge(name: str, meaning: str, *labels: str, jmx: str = "") -> Metric:
    return Metric(name, MetricType.GAUGE, meaning, labels, jmx)


def histogram(name: str, meaning: str, *labels: str, jmx: str = "") -> Metric:
    return Metric(name, MetricType.HISTOGRAM, meaning, labels, jmx)
