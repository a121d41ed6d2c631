"""Config providers: what they resolve, and what they must never read."""

import pytest

from barnabas_core.config.error import ConfigError, InvalidValue
from barnabas_core.config.provider import World, resolve_variables

PACKAGE = "org.apache.kafka.common.config.provider"
PROVIDERS = {
    "config.providers": "file, dir,env",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
}
FILES = {
    "/secrets/all": b"password = s3cret\nuser = al\\u0069ce\n",
    "/secrets/deep/key": b"from a file\n",
    "/etc/shadow": b"root = x",
    "/secretsother/all": b"password = other",
}
WORLD = World({"HOME": "/home", "APP_KEY": "k"}, FILES.get)


def resolve(value: str, extra: dict[str, str] | None = None) -> str:
    return resolve_variables(PROVIDERS | (extra or {}) | {"x": value}, WORLD)["x"]


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${file:/secrets/all:password}", "s3cret"),
        ("a ${file:/secrets/all:user}-${env:APP_KEY} b", "a alice-k b"),
        ("${dir:/secrets/deep:key}", "from a file\n"),
        ("${env:HOME}", "/home"),
        ("$HOME ${HOME} ${}", "$HOME ${HOME} ${}"),
        ("${vault:/secrets:x}", "${vault:/secrets:x}"),
    ],
)
def test_a_variable_is_replaced_by_what_its_provider_has(value: str, resolved: str) -> None:
    assert resolve(value) == resolved


def test_what_a_variable_gave_is_not_looked_at_again() -> None:
    world = World({"A": "${env:B}", "B": "b"}, FILES.get)

    assert resolve_variables(PROVIDERS | {"x": "${env:A}"}, world)["x"] == "${env:B}"


def test_without_providers_nothing_is_a_variable() -> None:
    assert resolve_variables({"x": "${env:HOME}"}, WORLD) == {"x": "${env:HOME}"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("${file:/nowhere:password}", "Could not read properties from file /nowhere"),
        ("${file:/secrets/all:colour}", "no colour in file /secrets/all"),
        ("${file:password}", "expected a path"),
        ("${dir:/secrets:key}", "no file key in directory /secrets"),
        ("${dir:/secrets/deep:../all}", "not the name of a file"),
        ("${env:NOT_SET}", "no environment variable NOT_SET"),
        ("${env:/path:HOME}", "has no path"),
    ],
)
def test_a_variable_that_cannot_be_looked_up_is_an_error(value: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as raised:
        resolve(value)

    assert raised.value.name == "x"


@pytest.mark.parametrize(
    "value",
    ["${file:/etc/shadow:root}", "${file:/secrets/../etc/shadow:root}",
     "${file:/secretsother/all:password}", "${dir:/etc:shadow}"],
)  # fmt: skip
def test_nothing_outside_the_allowed_paths_is_read(value: str) -> None:
    allowed = {
        "config.providers.file.param.allowed.paths": "/var,/secrets",
        "config.providers.dir.param.allowed.paths": "/secrets/",
    }

    assert resolve("${file:/secrets/all:password}", allowed) == "s3cret"
    assert resolve("${dir:/secrets/deep:key}", allowed) == "from a file\n"
    with pytest.raises(InvalidValue, match=r"outside allowed\.paths"):
        resolve(value, allowed)


def test_allowed_paths_are_absolute() -> None:
    with pytest.raises(ConfigError, match="Path secrets is not absolute"):
        resolve("", {"config.providers.file.param.allowed.paths": "secrets"})


def test_only_allowed_variables_of_the_environment_are_seen() -> None:
    allowed = {"config.providers.env.param.allowlist.pattern": "APP_.*"}

    assert resolve("${env:APP_KEY}", allowed) == "k"
    with pytest.raises(InvalidValue, match="HOME"):
        resolve("${env:HOME}", allowed)
    with pytest.raises(ConfigError, match=r"allowlist\.pattern"):
        resolve("", {"config.providers.env.param.allowlist.pattern": "("})


def test_a_provider_that_is_not_kafkas_is_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match=r"com\.example\.Vault.*FileConfigProvider"):
        resolve("", {"config.providers.file.class": "com.example.Vault"})
