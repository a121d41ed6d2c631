"""`kafka-storage version-mapping` and `feature-dependencies`: facts of the feature table."""

from collections.abc import Iterable

from barnabas.storage.format_command import release_level
from barnabas_core.config.number import INT16_MAX, parse_whole
from barnabas_core.metadata.feature import (
    FEATURES,
    METADATA_VERSION,
    FeatureError,
    latest_production,
    name_of_level,
)


def version_mapping(release: str | None) -> list[str]:
    """The levels that a cluster of this release starts with."""
    name = name_of_level(latest_production()) if release is None else release
    level = release_level(name, unstable=True)
    others = [one for one in FEATURES.values() if one.name != METADATA_VERSION]
    return [
        f"{METADATA_VERSION}={level} ({name})",
        *(f"{one.name}={one.default_level_at(level)}" for one in others),
    ]


def feature_dependencies(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in _dependencies(*_parse(text))]


def _parse(text: str) -> tuple[str, int]:
    name, separator, level = text.partition("=")
    if not separator:
        raise FeatureError(
            f"Invalid feature format: {text}. Expected format: 'feature=version' "
            "(e.g. 'group.version=1')"
        )
    try:
        return name, parse_whole(level, INT16_MAX)
    except ValueError:
        raise FeatureError(f"Invalid version format: {level} for feature {name}") from None


def _dependencies(name: str, level: int) -> list[str]:
    if name not in FEATURES:
        raise FeatureError(f"Unknown feature: {name}")
    try:
        needed = FEATURES[name].at(level).dependencies
    except FeatureError:
        if name == METADATA_VERSION:
            raise FeatureError(f"Unknown {METADATA_VERSION} {level}") from None
        raise FeatureError(f"Feature level {level} is not supported for feature {name}") from None
    if not needed:
        return [f"{_shown(name, level)} has no dependencies."]
    return [
        f"{_shown(name, level)} requires:",
        *(f"    {_shown(other, least)}" for other, least in needed.items()),
    ]


def _shown(name: str, level: int) -> str:
    release = f" ({name_of_level(level)})" if name == METADATA_VERSION else ""
    return f"{name}={level}{release}"
