"""Config providers: values that stand elsewhere, `${file:path:key}`, `${dir:path:file}`,
`${env:NAME}`.

`config.providers` names them, `config.providers.<name>.class` says which of Kafka's three each is,
`config.providers.<name>.param.<parameter>` narrows what it may read. A variable of a provider that
is not configured stays as it is, as with Kafka. Unlike Kafka, which would leave it in place too, a
variable that cannot be looked up is an error: no password is ever `${file:...}`.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from barnabas_core.config.error import ConfigError, InvalidValue
from barnabas_core.config.properties import parse_properties_text

Read = Callable[[str], bytes | None]
"""The contents of a file, None if it is absent."""
Lookup = Callable[[str, str], str]
"""(path, key) to value; `ConfigError` if there is none."""

PROVIDERS = "config.providers"
_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."


@dataclass(frozen=True, slots=True)
class World:
    """What providers look into."""

    environment: Mapping[str, str]
    read: Read


def resolve_variables(properties: Mapping[str, str], world: World) -> dict[str, str]:
    """The properties with every variable of a configured provider replaced, once."""
    lookups = configured_providers(properties, world)
    if not lookups:
        return dict(properties)
    return {
        name: value if name.startswith(PROVIDERS) else _replaced(name, value, lookups)
        for name, value in properties.items()
    }


def configured_providers(properties: Mapping[str, str], world: World) -> dict[str, Lookup]:
    """Provider name to its look-up. A provider without a class is passed over, as by Kafka."""
    lookups = {}
    for name in filter(None, (one.strip() for one in properties.get(PROVIDERS, "").split(","))):
        class_property = f"{PROVIDERS}.{name}.class"
        class_name = properties.get(class_property, "").strip()
        if not class_name:
            continue
        make = _CLASSES.get(class_name.removeprefix(_PACKAGE))
        if make is None:
            expected = ", ".join(f"{_PACKAGE}{known}" for known in _CLASSES)
            raise InvalidValue(class_property, class_name, f"expected one of {expected}")
        prefix = f"{PROVIDERS}.{name}.param."
        parameters = {
            key.removeprefix(prefix): value
            for key, value in properties.items()
            if key.startswith(prefix)
        }
        lookups[name] = make(parameters, world)
    return lookups


def _replaced(name: str, value: str, lookups: Mapping[str, Lookup]) -> str:
    if "${" not in value:
        return value

    def replace(match: re.Match[str]) -> str:
        lookup = lookups.get(match[1])
        if lookup is None:
            return match[0]
        try:
            return lookup(match[2] or "", match[3])
        except ConfigError as error:
            raise InvalidValue(name, match[0], str(error)) from error

    return _VARIABLE.sub(replace, value)


def _file_provider(parameters: Mapping[str, str], world: World) -> Lookup:
    allowed = _allowed_paths(parameters)

    def lookup(path: str, key: str) -> str:
        data = world.read(_checked_path(path, allowed))
        if data is None:
            raise ConfigError(f"Could not read properties from file {path}")
        value = parse_properties_text(data.decode("utf-8", "replace")).get(key)
        if value is None:
            raise ConfigError(f"no {key} in file {path}")
        return value

    return lookup


def _directory_provider(parameters: Mapping[str, str], world: World) -> Lookup:
    allowed = _allowed_paths(parameters)

    def lookup(path: str, key: str) -> str:
        directory = _checked_path(path, allowed)
        # The key is the name of a file in the directory, never a way out of it.
        if "/" in key or key in ("", ".", ".."):
            raise ConfigError(f"{key!r} is not the name of a file")
        data = world.read(posixpath.join(directory, key))
        if data is None:
            raise ConfigError(f"no file {key} in directory {path}")
        return data.decode("utf-8", "replace")

    return lookup


def _environment_provider(parameters: Mapping[str, str], world: World) -> Lookup:
    try:
        allowed = re.compile(parameters.get("allowlist.pattern", ".*"))
    except re.error as error:
        raise ConfigError(f"allowlist.pattern: {error}") from error

    def lookup(path: str, key: str) -> str:
        if path:
            raise ConfigError(f"an environment variable has no path, got {path!r}")
        if key not in world.environment or not allowed.fullmatch(key):
            raise ConfigError(f"no environment variable {key}, or it is not allowed")
        return world.environment[key]

    return lookup


_CLASSES: dict[str, Callable[[Mapping[str, str], World], Lookup]] = {
    "FileConfigProvider": _file_provider,
    "DirectoryConfigProvider": _directory_provider,
    "EnvVarConfigProvider": _environment_provider,
}


def _allowed_paths(parameters: Mapping[str, str]) -> list[str] | None:
    """None: all paths."""
    text = parameters.get("allowed.paths", "")
    if not text:
        return None
    paths = [posixpath.normpath(path) for path in text.split(",")]
    for path in paths:
        if not posixpath.isabs(path):
            raise ConfigError(f"allowed.paths: Path {path} is not absolute")
    return paths


def _checked_path(path: str, allowed: list[str] | None) -> str:
    if not path:
        raise ConfigError("expected a path")
    if allowed is None:
        return path
    wanted = posixpath.normpath(path)
    if not any(wanted == root or wanted.startswith(f"{root.rstrip('/')}/") for root in allowed):
        raise ConfigError(f"path {path} is outside allowed.paths")
    return wanted
