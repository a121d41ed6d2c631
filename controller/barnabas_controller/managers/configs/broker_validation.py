"""Dynamic configs of brokers: which may be set at run time, where, and to what.

In Kafka the broker that is asked looks at these before it forwards the request; here the controller
does, for every way in. Passwords are kept as they are given, as Kafka keeps them: whoever can read
the metadata log reads them. What only the broker itself can know (do its directories exist, can it
open that key store?) is not looked at: a broker leaves a value alone that it cannot use.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.broker_property import READ_ONLY, base_name, broker_property

PER_BROKER: Final = "per-broker"

# Security settings of one listener; without its prefix they would be those of all of them.
_ONLY_OF_A_LISTENER: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_LISTENER_WIDE_DEFAULTS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
# Controllers obey these too, and they resolve no placeholders of other nodes.
_READ_BY_CONTROLLERS: Final = frozenset({"min.insync.replicas", "unclean.leader.election.enable"})


def is_placeholder(value: str) -> bool:
    """`${env:NAME}` and the like, which the broker resolves where it runs."""
    return "${" in value


def validate_broker_config(
    configs: Mapping[str, str], defaults: Mapping[str, str], *, is_default: bool
) -> str | None:
    """None if a broker may have exactly these dynamic configs, else what is wrong.

    `defaults` are the cluster's dynamic ones behind a broker's own; `is_default` if `configs` are
    themselves those.
    """
    fault = (
        _unless_empty("Cannot update these configs dynamically", _read_only(configs))
        or _unless_empty(
            "These security configs can be dynamically updated only per-listener using the "
            "listener prefix",
            [name for name in configs if name in _ONLY_OF_A_LISTENER],
        )
        or _check_values(configs)
    )
    if fault is None and is_default:
        fault = _unless_empty(
            "Cannot update these configs at default cluster level, broker id must be specified",
            [name for name in configs if _is_per_broker(name)],
        )
    return fault or _check_together({**defaults, **configs})


def _read_only(configs: Mapping[str, str]) -> list[str]:
    plain = {name: broker_property(name) for name in configs if base_name(name) == name}
    return [name for name, prop in plain.items() if prop and prop.update_mode == READ_ONLY]


def _is_per_broker(name: str) -> bool:
    base = base_name(name)
    if base != name:
        return base not in _LISTENER_WIDE_DEFAULTS
    prop = definitions(Kind.BROKER).get(name)
    return prop is not None and prop.update_mode == PER_BROKER


def _check_values(configs: Mapping[str, str]) -> str | None:
    for name, value in configs.items():
        prop = broker_property(name)
        if prop is None or (is_placeholder(value) and name not in _READ_BY_CONTROLLERS):
            continue
        try:
            prop.parse(value)
        except ConfigError as error:
            return str(error)
    return None


def _check_together(configs: Mapping[str, str]) -> str | None:
    """Topics get their defaults from these: a set of them that no log can have is refused here."""
    known = {name: value for name, value in configs.items() if not is_placeholder(value)}
    try:
        LogConfig.from_broker(known)
    except ConfigError as error:
        return str(error)
    return None


def _unless_empty(message: str, names: Iterable[str]) -> str | None:
    listed = ", ".join(sorted(names))
    return f"{message}: [{listed}]" if listed else None
