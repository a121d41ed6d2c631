"""Is a set of configs fit for its resource? Kafka's message if not.

A resource's configs are looked at as they will be, all together: each name must exist, each value
parse and lie within its bounds, and some values must fit others.
"""

from collections.abc import Mapping

from barnabas_controller.managers.view import View
from barnabas_core.config.definition import Kind, definition
from barnabas_core.config.error import ConfigError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.effective_config import node_properties, topic_configs

_PLACEHOLDER = "${"


def validate_topic_config(
    view: View, topic_name: str, configs: Mapping[str, str | None]
) -> str | None:
    """None if a topic may have exactly these configs, else what is wrong (INVALID_CONFIG)."""
    if not configs:
        return None
    nulls = [name for name, value in configs.items() if value is None]
    if nulls:
        return f"Null value not supported for topic configs: {','.join(nulls)}"
    overrides = {name: value for name, value in configs.items() if value is not None}
    try:
        # A wrong name is told of before any wrong value.
        for name in overrides:
            definition(Kind.TOPIC, name)
        wanted = LogConfig.of(overrides, _broker_defaults(view))
    except ConfigError as error:
        return str(error)
    return _check_remote_stays(view, topic_name, wanted)


def _broker_defaults(view: View) -> LogConfig:
    """What this controller's own properties give a topic, as Kafka's controller sees it."""
    settings = view.settings
    properties = node_properties(view.image, settings.node_id, settings.static_configs)
    known = {name: text for name, text in properties.items() if _PLACEHOLDER not in text}
    return LogConfig.from_broker(known)


def _check_remote_stays(view: View, topic_name: str, wanted: LogConfig) -> str | None:
    before = topic_configs(view.image, topic_name).get("remote.storage.enable", "false")
    was_remote = before.strip().lower() == "true"
    if was_remote and not wanted.remote_storage_enable and not wanted.remote_log_delete_on_disable:
        return (
            "It is invalid to disable remote storage without deleting remote data. "
            "If you want to keep the remote data and turn to read only, please set "
            "`remote.storage.enable=true,remote.log.copy.disable=true`. "
            "If you want to disable remote storage and delete all remote data, please set "
            "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
        )
    return None
