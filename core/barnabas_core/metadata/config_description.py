"""DescribeConfigs: what a node says of the configs of topics, nodes, groups and subscriptions.

Brokers and controllers answer alike, each from the image and its own properties file. A config may
be set in several places, its synonyms: those tell every value in the order in which they win, the
first being the one that counts. Kafka only tells them from the first on that has the config's own
name, so a retention in hours, with none in milliseconds, is not told of.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from barnabas_core.config.definition import Kind, Property, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.config.property_type import PropertyType, format_value
from barnabas_core.config.source import ConfigSource, Synonym
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.broker_property import broker_property, broker_synonyms, is_dynamic
from barnabas_core.metadata.effective_config import (
    DEFAULT_BROKER,
    broker_configs,
    node_properties,
    resource_configs,
    topic_configs,
)
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import (
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    ConfigResource,
)

UNKNOWN_TYPE = 0
_PLACEHOLDER = "${"


@dataclass(frozen=True, slots=True)
class ConfigDescription:
    """One line of the answer."""

    name: str
    value: str | None
    """Never told if it is sensitive."""
    source: ConfigSource
    type: int
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[Synonym, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigDescriber:
    """Of one node: `static_configs` is its properties file, `node_id` whose dynamic ones count."""

    image: Image
    node_id: int
    static_configs: Mapping[str, str]

    def topic(self, name: str, keys: Sequence[str] | None = None) -> list[ConfigDescription]:
        overrides = topic_configs(self.image, name)
        config = self._log_config(overrides)
        table = definitions(Kind.TOPIC)
        names = [n for n, prop in table.items() if not prop.is_internal or n in overrides]
        return _described(
            names, keys, lambda name: self._topic_entry(table[name], overrides, config)
        )

    def node(self, keys: Sequence[str] | None = None) -> list[ConfigDescription]:
        """All properties of this node, set or not."""
        properties = node_properties(self.image, self.node_id, self._file)
        table = definitions(Kind.BROKER)
        shown = {name for name, prop in table.items() if not prop.is_internal}
        names = sorted(shown | properties.keys())
        return _described(names, keys, lambda name: self._node_entry(name, properties))

    def node_defaults(self, keys: Sequence[str] | None = None) -> list[ConfigDescription]:
        """What is set dynamically for all nodes."""
        configs = resource_configs(self.image, DEFAULT_BROKER)
        return _described(configs, keys, lambda name: _default_entry(name, configs[name]))

    def group(self, name: str, keys: Sequence[str] | None = None) -> list[ConfigDescription]:
        configs = resource_configs(self.image, ConfigResource(GROUP_RESOURCE, name))
        table = definitions(Kind.GROUP)
        return _described(table, keys, lambda key: self._group_entry(table[key], configs))

    def client_metrics(
        self, name: str, keys: Sequence[str] | None = None
    ) -> list[ConfigDescription]:
        resource = ConfigResource(CLIENT_METRICS_RESOURCE, name)
        configs = resource_configs(self.image, resource)
        table = definitions(Kind.CLIENT_METRICS)
        return _described(table, keys, lambda key: _metrics_entry(table[key], configs))

    @property
    def _file(self) -> Mapping[str, str]:
        """A node's id has two names, of which a file needs one."""
        node_id = str(self.node_id)
        return {"node.id": node_id, "broker.id": node_id, **self.static_configs}

    def _log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        properties = node_properties(self.image, self.node_id, self.static_configs)
        known = {name: text for name, text in properties.items() if _PLACEHOLDER not in text}
        try:
            return LogConfig.of(overrides, LogConfig.from_broker(known))
        except ConfigError:
            # Values that did not fit each other were refused when they were set, unless a file
            # has changed since: what is set is told all the same.
            return LogConfig()

    def _topic_entry(
        self, prop: Property, overrides: Mapping[str, str], config: LogConfig
    ) -> ConfigDescription:
        behind = self._broker_synonyms(prop)
        if prop.name in overrides:
            shown = _shown(prop, overrides[prop.name])
            synonyms = (Synonym(prop.name, shown, ConfigSource.DYNAMIC_TOPIC_CONFIG), *behind)
        else:
            shown = format_value(config.value(prop.name))
            synonyms = behind
        return ConfigDescription(prop.name, shown, _source(synonyms), prop.type, synonyms=synonyms)

    def _node_entry(self, name: str, properties: Mapping[str, str]) -> ConfigDescription:
        prop = broker_property(name)
        synonyms = self._synonyms(name)
        if _is_sensitive(prop):
            synonyms = tuple(each._replace(value=None) for each in synonyms)
            shown = None
        elif name in properties:
            shown = _shown(prop, properties[name])
        else:
            shown = prop.default_text if prop is not None else None
        return ConfigDescription(
            name,
            shown,
            _source(synonyms),
            UNKNOWN_TYPE if prop is None else prop.type,
            is_read_only=not is_dynamic(name),
            is_sensitive=_is_sensitive(prop),
            synonyms=synonyms,
        )

    def _group_entry(self, prop: Property, configs: Mapping[str, str]) -> ConfigDescription:
        behind = self._broker_synonyms(prop)
        if prop.name in configs:
            shown = _shown(prop, configs[prop.name])
            synonyms = (Synonym(prop.name, shown, ConfigSource.GROUP_CONFIG), *behind)
        elif behind:
            shown, synonyms = behind[0].value, behind
        else:
            shown = prop.default_text
            synonyms = (Synonym(prop.name, shown, ConfigSource.DEFAULT_CONFIG),)
        return ConfigDescription(prop.name, shown, _source(synonyms), prop.type, synonyms=synonyms)

    def _broker_synonyms(self, prop: Property) -> tuple[Synonym, ...]:
        return self._synonyms(prop.broker_synonyms[0]) if prop.broker_synonyms else ()

    def _synonyms(self, name: str) -> tuple[Synonym, ...]:
        """Where a broker property is set, under any of its names, from its own name on."""
        names = broker_synonyms(name)
        places = (
            (broker_configs(self.image, self.node_id), ConfigSource.DYNAMIC_BROKER_CONFIG),
            (
                resource_configs(self.image, DEFAULT_BROKER),
                ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
            ),
            (self._file, ConfigSource.STATIC_BROKER_CONFIG),
            (_defaults(names), ConfigSource.DEFAULT_CONFIG),
        )
        found = [
            Synonym(each, configs[each], source)
            for configs, source in places
            for each in names
            if each in configs
        ]
        first = next((at for at, each in enumerate(found) if each.name == name), len(found))
        return tuple(found[first:])


def _described(
    names: Iterable[str],
    keys: Sequence[str] | None,
    describe: Callable[[str], ConfigDescription],
) -> list[ConfigDescription]:
    """Of all names, or of those asked for: no key means all."""
    wanted = frozenset(keys or ())
    return [describe(name) for name in names if not wanted or name in wanted]


def _default_entry(name: str, value: str) -> ConfigDescription:
    prop = broker_property(name)
    shown = None if _is_sensitive(prop) else _shown(prop, value)
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return ConfigDescription(
        name,
        shown,
        source,
        UNKNOWN_TYPE if prop is None else prop.type,
        is_read_only=not is_dynamic(name),
        is_sensitive=_is_sensitive(prop),
        synonyms=(Synonym(name, shown, source),),
    )


def _metrics_entry(prop: Property, configs: Mapping[str, str]) -> ConfigDescription:
    if prop.name not in configs:
        source = ConfigSource.DEFAULT_CONFIG
        return ConfigDescription(prop.name, prop.default_text, source, prop.type)
    shown = _shown(prop, configs[prop.name])
    source = ConfigSource.CLIENT_METRICS_CONFIG
    synonyms = (Synonym(prop.name, shown, source),)
    return ConfigDescription(prop.name, shown, source, prop.type, synonyms=synonyms)


def _defaults(names: Sequence[str]) -> dict[str, str]:
    table = definitions(Kind.BROKER)
    known = [table[name] for name in names if name in table and table[name].has_default]
    return {prop.name: prop.default_text for prop in known if prop.default_text is not None}


def _source(synonyms: Sequence[Synonym]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG


def _is_sensitive(prop: Property | None) -> bool:
    """A config that no table knows may be a plug-in's secret."""
    return prop is None or prop.type is PropertyType.PASSWORD


def _shown(prop: Property | None, text: str) -> str | None:
    if prop is None:
        return text
    try:
        return format_value(prop.parse(text))
    except ConfigError:
        return text
