"""A process as Prometheus sees it, read by Prometheus's own parser."""

import re
from http.client import HTTPConnection
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

Address = tuple[str, int]


_SERVED = re.compile(r"figures are served +address=(\S+):(\d+)")


class Page(NamedTuple):
    status: int
    text: str


def address_in(output: str) -> Address | None:
    """Where a process says that it serves them, the last time that it was started."""
    found = _SERVED.findall(output)
    return (found[-1][0], int(found[-1][1])) if found else None


def page(address: Address, path: str) -> Page:
    connection = HTTPConnection(*address, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return Page(response.status, response.read().decode())
    finally:
        connection.close()


class Scrape:
    """One answer to /metrics."""

    def __init__(self, address: Address) -> None:
        status, text = page(address, "/metrics")
        assert status == 200, text
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        self.families: dict[str, str] = {}
        seen = set()
        for family in text_string_to_metric_families(text):
            assert family.name not in self.families, f"{family.name} stands in two places"
            self.families[family.name] = family.type
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in seen, f"twice: {key}"
                seen.add(key)
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def all(self, name: str, **labels: str) -> list[float]:
        return [
            value
            for found, value in self._samples.get(name, [])
            if all(found.get(label) == text for label, text in labels.items())
        ]

    def one(self, name: str, **labels: str) -> float:
        values = self.all(name, **labels)
        assert len(values) == 1, f"{name} {labels}: {values}"
        return values[0]

    def total(self, name: str, **labels: str) -> float:
        return sum(self.all(name, **labels))
