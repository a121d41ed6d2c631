"""Features: what the nodes of a cluster agreed to use, each at a level (KIP-584, KIP-1022).

`metadata.version` says which records, and which versions of them, may be in the metadata log; the
other features switch on one behaviour each. A cluster only runs levels that all its nodes support.
The tables are read when something of them is first asked for.
"""

import csv
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"


class FeatureError(Exception):
    """A feature, level or release that does not exist, or not together with the others."""


@dataclass(frozen=True, slots=True)
class FeatureLevel:
    level: int
    name: str
    """`4.3-IV0` of a metadata version, `TV_2` and the like of the others."""
    is_production: bool
    """Other levels still change: they run only with `unstable.feature.versions.enable`."""
    bootstrap_metadata_level: int
    """A cluster formatted at this metadata version or above starts with the level."""
    dependencies: Mapping[str, int]
    """Feature to the least level it must have first."""
    metadata_changed: bool
    """Of a metadata version: it brought new records or new versions of some."""


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    levels: tuple[FeatureLevel, ...]
    """Ascending, without gaps, unstable ones last."""

    @property
    def minimum(self) -> int:
        return self.levels[0].level

    @property
    def latest_production(self) -> int:
        return max(level.level for level in self.levels if level.is_production)

    @property
    def default_level(self) -> int:
        """What a cluster of the latest production metadata version starts with."""
        return self.default_level_at(latest_production())

    def maximum(self, *, unstable: bool = False) -> int:
        """The highest level a node announces."""
        return self.levels[-1].level if unstable else self.latest_production

    def at(self, level: int) -> FeatureLevel:
        """`FeatureError` if there is no such level."""
        if not self.minimum <= level <= self.levels[-1].level:
            known = f"{self.minimum}-{self.levels[-1].level}"
            raise FeatureError(f"No feature:{self.name} with feature level {level}: {known}")
        return self.levels[level - self.minimum]

    def default_level_at(self, metadata_level: int) -> int:
        """What a cluster that is formatted at this metadata version starts with."""
        if self.name == METADATA_VERSION:
            return metadata_level
        fitting = [one for one in self.levels if one.bootstrap_metadata_level <= metadata_level]
        return fitting[-1].level if fitting else 0


class _Features(Mapping[str, Feature]):
    """The table, read at the first use, in the order in which Kafka lists features."""

    def __getitem__(self, name: str) -> Feature:
        return _features()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_features())

    def __len__(self) -> int:
        return len(_features())


FEATURES: Mapping[str, Feature] = _Features()


def feature(name: str) -> Feature:
    """`FeatureError` if there is no such feature."""
    try:
        return FEATURES[name]
    except KeyError:
        known = ", ".join(sorted(FEATURES))
        raise FeatureError(
            f"Unsupported feature: {name}. Supported features are: {known}"
        ) from None


def latest_production() -> int:
    """The metadata version that new clusters get."""
    return FEATURES[METADATA_VERSION].latest_production


def level_of_name(name: str) -> int:
    """The level of `4.3-IV0`; of a release alone, `4.3`, its last one. `FeatureError` if none."""
    levels = FEATURES[METADATA_VERSION].levels
    fitting = [one.level for one in levels if name in (one.name, one.name.partition("-")[0])]
    if not fitting:
        raise FeatureError(f"Version {name} is not a valid metadata version")
    return fitting[-1]


def name_of_level(level: int) -> str:
    return FEATURES[METADATA_VERSION].at(level).name


def changed_metadata_between(low: int, high: int) -> bool:
    """A log written at `high` may hold what a node at `low` cannot read."""
    above = range(low + 1, high + 1)
    return any(FEATURES[METADATA_VERSION].at(level).metadata_changed for level in above)


def check_dependencies(name: str, level: int, levels: Mapping[str, int]) -> None:
    """`FeatureError` unless `levels`, all features as they will be, allow this one."""
    metadata_version = FEATURES[METADATA_VERSION]
    wanted = feature(name).at(level)
    refusal = f"{name} could not be set to {level} because it depends on"
    if level >= 1 and levels.get(METADATA_VERSION, 0) < metadata_version.minimum:
        least = f"{metadata_version.minimum} ({metadata_version.levels[0].name})"
        raise FeatureError(f"{refusal} {METADATA_VERSION}={least}")
    for needed, least_level in wanted.dependencies.items():
        if levels.get(needed, 0) < least_level:
            raise FeatureError(f"{refusal} {needed} level {least_level}")


_BROKER_REGISTRATION_CHANGE = ((30, 3), (17, 2), (7, 1))
"""(from this metadata level, version): cordoned directories, directories, controlled shutdown."""

_FIRST_LEVEL = {
    "ZkMigrationStateRecord": 8,
    "UserScramCredentialRecord": 11,
    "RemoveUserScramCredentialRecord": 11,
    "BeginTransactionRecord": 13,
    "EndTransactionRecord": 13,
    "AbortTransactionRecord": 13,
    "DelegationTokenRecord": 14,
    "RemoveDelegationTokenRecord": 14,
    "RegisterControllerRecord": 15,
    "ClearElrRecord": 23,
}
"""Records that no node at a lower metadata level can read."""


def is_record_supported(record_class_name: str, metadata_level: int) -> bool:
    return metadata_level >= _FIRST_LEVEL.get(record_class_name, 0)


def record_version(record_class_name: str, metadata_level: int) -> int:
    """The version at which a metadata record is written while the cluster is at this level.

    All but a few records have one version. `FeatureError` if the level knows no such record.
    """
    if not is_record_supported(record_class_name, metadata_level):
        name = name_of_level(metadata_level)
        raise FeatureError(f"{record_class_name} is not supported at metadata version {name}")
    if record_class_name == "BrokerRegistrationChangeRecord":
        return next(v for level, v in _BROKER_REGISTRATION_CHANGE if metadata_level >= level)
    return _record_versions().get(record_class_name, {}).get(metadata_level, 0)


@lru_cache
def _features() -> dict[str, Feature]:
    rows = _rows("feature")
    metadata_levels = {
        row["name"]: int(row["level"]) for row in rows if row["feature"] == METADATA_VERSION
    }
    levels: dict[str, list[FeatureLevel]] = {}
    for row in rows:
        levels.setdefault(row["feature"], []).append(_level(row, metadata_levels))
    return {name: Feature(name, tuple(of_feature)) for name, of_feature in levels.items()}


def _level(row: Mapping[str, str], metadata_levels: Mapping[str, int]) -> FeatureLevel:
    pairs = [pair.split("=") for pair in row["dependencies"].split("|") if pair]
    return FeatureLevel(
        level=int(row["level"]),
        name=row["name"],
        is_production=row["production"] == "true",
        bootstrap_metadata_level=metadata_levels[row["bootstrap_metadata_version"]],
        dependencies={name: int(level) for name, level in pairs},
        metadata_changed=row["metadata_changed"] == "true",
    )


@lru_cache
def _record_versions() -> dict[str, dict[int, int]]:
    """Record to its version by metadata level, for the records that have several."""
    versions: dict[str, dict[int, int]] = {}
    for row in _rows("record-version"):
        for column, version in row.items():
            if column.endswith("_record") and version:
                name = "".join(word.capitalize() for word in column.split("_"))
                versions.setdefault(name, {})[int(row["level"])] = int(version)
    return versions


def _rows(table: str) -> list[dict[str, str]]:
    data = pkgutil.get_data(__package__, f"table/{table}.csv")
    assert data is not None, table
    return list(csv.DictReader(data.decode().splitlines()))
