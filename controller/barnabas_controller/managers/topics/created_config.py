"""The configs that a new topic will have, as the answer to its creation tells them.

They depend on little that changes, and most topics are created alike, so the last answers are kept:
to work one out again takes longer than all the rest of a creation.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from barnabas_controller.managers.view import View
from barnabas_core.config.definition import Kind, definition
from barnabas_core.config.source import ConfigSource
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.effective_config import (
    DEFAULT_BROKER,
    broker_configs,
    node_properties,
    resource_configs,
)
from barnabas_core.wire.messages.create_topics_response import CreatableTopicConfigs

_PLACEHOLDER: Final = "${"
_KEPT_ANSWERS: Final = 64

Pairs: TypeAlias = tuple[tuple[str, str], ...]


class _Places(NamedTuple):
    """All places where a topic's config may be set, strongest first."""

    topic: Pairs
    node: Pairs
    cluster: Pairs
    static: Pairs
    properties: Pairs
    """What the last three of them come to."""


def created_configs(view: View, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    """Of a topic with these configs of its own, by name."""
    image, settings = view.image, view.settings
    places = _Places(
        tuple(overrides.items()),
        tuple(broker_configs(image, settings.node_id).items()),
        tuple(resource_configs(image, DEFAULT_BROKER).items()),
        tuple(settings.static_configs.items()),
        tuple(node_properties(image, settings.node_id, settings.static_configs).items()),
    )
    return [CreatableTopicConfigs(*row) for row in _rows(places)]


@lru_cache(maxsize=_KEPT_ANSWERS)
def _rows(places: _Places) -> tuple[tuple[str, str | None, bool, ConfigSource], ...]:
    """Name, value, whether it is read-only, source; none is sensitive."""
    known = {name: text for name, text in places.properties if _PLACEHOLDER not in text}
    config = LogConfig.of(dict(places.topic), LogConfig.from_broker(known))
    return tuple(
        (each.name, each.value, False, _source(places, each.name)) for each in config.describe()
    )


def _source(places: _Places, name: str) -> ConfigSource:
    if name in dict(places.topic):
        return ConfigSource.DYNAMIC_TOPIC_CONFIG
    synonyms = definition(Kind.TOPIC, name).broker_synonyms
    for source, configs in (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, places.node),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, places.cluster),
        (ConfigSource.STATIC_BROKER_CONFIG, places.static),
    ):
        if any(synonym in dict(configs) for synonym in synonyms):
            return source
    return ConfigSource.DEFAULT_CONFIG
