"""Broker properties that change while the broker runs (KIP-226).

The cluster's metadata hold, for each broker and for all of them, properties that come before those
of its file. With each image that changes them, every live part is handed the properties that count
now, and takes from them what concerns it. Which properties may change so, the controller decides.

A value that a part cannot use (an older release let it in, or it does not fit the file of this very
broker) leaves the part as it was, and is told of: a broker does not stop over it. Secrets that are
placeholders are none of these parts' business, so those values are left out.
"""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas_core.config.error import ConfigError
from barnabas_core.metadata.effective_config import node_properties
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.runtime.log_setup import EventLog

Apply = Callable[[Mapping[str, str]], None]
"""Takes the properties that count now; `ConfigError` if it cannot, and then nothing is changed."""

_PLACEHOLDER: Final = "${"


class DynamicConfig:
    def __init__(self, node_id: int, static_configs: Mapping[str, str], log: EventLog) -> None:
        self._node_id = node_id
        self._static = static_configs
        self._log = log
        self._parts: dict[str, Apply] = {}
        self._configs = EMPTY_IMAGE.configs
        self._properties: Mapping[str, str] = dict(static_configs)

    @property
    def properties(self) -> Mapping[str, str]:
        """What this broker obeys, as text; what is not there has Kafka's default."""
        return self._properties

    def add(self, name: str, apply: Apply) -> None:
        """A part that has the properties of the file already, and wants to know of others."""
        assert name not in self._parts, name
        self._parts[name] = apply

    def update(self, image: Image) -> None:
        if image.configs is self._configs:
            return
        self._configs = image.configs
        found = node_properties(image, self._node_id, self._static)
        properties = {name: text for name, text in found.items() if _PLACEHOLDER not in text}
        before, self._properties = self._properties, properties
        changed = sorted(
            name
            for name in before.keys() | properties.keys()
            if before.get(name) != properties.get(name)
        )
        if not changed:
            return
        self._log.info("broker properties changed", names=",".join(changed))
        self._tell_of_unserved({name: properties[name] for name in changed if name in properties})
        for name, apply in self._parts.items():
            try:
                apply(properties)
            except ConfigError as error:
                self._log.warning("settings stay as they were", of=name, reason=str(error))

    def _tell_of_unserved(self, changed: Mapping[str, str]) -> None:
        # Rare: who starts a broker need not wait for it.
        from barnabas_core.config.standing import later_warnings, refuse_unserved  # noqa: PLC0415

        for warning in later_warnings(changed):
            self._log.warning(warning)
        for name, text in changed.items():
            try:
                refuse_unserved({name: text})
            except ConfigError as error:
                self._log.warning(str(error))
