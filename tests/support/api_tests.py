"""Which tests cover each API that a listener serves, from `api_tests.csv`."""

import csv
from pathlib import Path
from typing import Final, NamedTuple

from barnabas_core.wire.api import ApiKey

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
TABLE: Final = Path(__file__).with_name("api_tests.csv")


class ApiTests(NamedTuple):
    key: ApiKey
    every_version: str
    """The test that asks each version that is announced."""
    own: str
    """A module of tests of what it does."""


def served_apis(listener: str) -> dict[ApiKey, ApiTests]:
    """In the order of their keys."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["listener"] == listener]
    found = [ApiTests(ApiKey[row["api"]], row["every_version"], row["own"]) for row in rows]
    return {one.key: one for one in sorted(found)}
