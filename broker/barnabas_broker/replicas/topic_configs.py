"""The log settings of each topic: its own configs over this broker's properties."""

import contextlib
from collections.abc import Mapping

from barnabas_core.config.error import ConfigError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.effective_config import node_properties, topic_configs
from barnabas_core.metadata.image import EMPTY_IMAGE, Image


class TopicConfigs:
    def __init__(self, node_id: int, static_configs: Mapping[str, str]) -> None:
        self._node_id = node_id
        self._static = static_configs
        self._image = EMPTY_IMAGE
        self._defaults = LogConfig.from_broker(static_configs)

    @property
    def defaults(self) -> LogConfig:
        return self._defaults

    def update(self, image: Image) -> None:
        """The image that is being applied."""
        if image.configs is not self._image.configs:
            properties = node_properties(image, self._node_id, self._static)
            # What cannot be is told of by `DynamicConfig`; a broker does not stop over it.
            with contextlib.suppress(ConfigError):
                self._defaults = LogConfig.from_broker(properties)
        self._image = image

    def own(self, topic: str) -> Mapping[str, str]:
        """What is set for the topic itself, as text."""
        return topic_configs(self._image, topic)

    def of(self, topic: str) -> LogConfig:
        overrides = self.own(topic)
        try:
            return LogConfig.of(overrides, self._defaults) if overrides else self._defaults
        except ConfigError:
            # It did fit the defaults that there were when it was set.
            return LogConfig.of(overrides)
