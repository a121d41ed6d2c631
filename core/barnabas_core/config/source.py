"""Where a configuration value comes from, with the codes of DescribeConfigs."""

from enum import IntEnum
from typing import NamedTuple


class ConfigSource(IntEnum):
    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(NamedTuple):
    """One line of DescribeConfigs: `synonyms[0]` is where the value comes from."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
