"""The parts of a broker that take new properties while it runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from barnabas_broker.dynamic_config import DynamicConfig
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.server.connection_quota import ConnectionLimits, ConnectionQuota

if TYPE_CHECKING:
    from barnabas_core.log.cleaner.settings import CleanerSettings
    from barnabas_core.runtime.cleaner_task import CleanerTask

_PRODUCER_EXPIRATION = "producer.id.expiration.ms"
_CORDONED = "cordoned.log.dirs"
_EVERY_DIRECTORY = "*"


class LiveSettings:
    """Holds what outlives no restart: the newest settings, for parts that are there or to come."""

    def __init__(
        self,
        config: DynamicConfig,
        quota: ConnectionQuota,
        environment: LogEnvironment,
        cleaner: "CleanerSettings | None",
    ) -> None:
        self._config = config
        self._quota = quota
        self._environment = environment
        self._cleaner_settings = cleaner
        self._cleaner: CleanerTask | None = None
        config.add("connections", self._set_limits)
        config.add("producer ids", self._set_expiration)
        config.add("cleaner", self._set_cleaner)
        # Whoever applies the image does that; only a complaint is to be made here.
        config.add("defaults of topics", _check_topic_defaults)

    def _set_limits(self, properties: Mapping[str, str]) -> None:
        self._quota.limits = ConnectionLimits.from_broker(properties)

    def _set_expiration(self, properties: Mapping[str, str]) -> None:
        prop = definitions(Kind.BROKER)[_PRODUCER_EXPIRATION]
        text = properties.get(_PRODUCER_EXPIRATION)
        value = prop.default if text is None else prop.parse(text)
        self._environment.producer_expiration_ms = cast("int", value)

    def _set_cleaner(self, properties: Mapping[str, str]) -> None:
        from barnabas_core.log.cleaner.settings import CleanerSettings  # noqa: PLC0415 - rare

        self._cleaner_settings = CleanerSettings.from_broker(properties)
        if self._cleaner is not None:
            self._cleaner.settings = self._cleaner_settings

    @property
    def cleaner_settings(self) -> "CleanerSettings | None":
        """None: Kafka's defaults."""
        return self._cleaner_settings

    def watch_cleaner(self, cleaner: "CleanerTask") -> None:
        """It has `cleaner_settings` now, and is told of new ones."""
        self._cleaner = cleaner

    def cordoned_directories(self, directories: list[LogDirectory]) -> list[bytes]:
        """Ids of those that are to take no new partitions (`cordoned.log.dirs`)."""
        wanted = [one.strip() for one in self._config.properties.get(_CORDONED, "").split(",")]
        return [
            one.id
            for one in directories
            if one.meta is not None and (one.path in wanted or _EVERY_DIRECTORY in wanted)
        ]


def _check_topic_defaults(properties: Mapping[str, str]) -> None:
    LogConfig.from_broker(properties)
