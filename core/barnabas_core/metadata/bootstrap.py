"""Bootstrap metadata: the records that a new cluster's metadata log begins with.

`kafka-storage format` leaves them in `bootstrap.checkpoint` of a log directory, in the form of a
snapshot; the first active controller writes them to the log if it finds it empty. Kafka 4.4 keeps
them in the first snapshot of the log instead. `kraft.version` is not among them: it is a control
record of the quorum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas_core.metadata.feature import (
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    FeatureError,
    check_dependencies,
    feature,
    latest_production,
    name_of_level,
    record_version,
)
from barnabas_core.metadata.record import BadMetadataRecord, decode_record, encode_record
from barnabas_core.ports.disk import Buffer, Disk
from barnabas_core.raft.checkpoint_file import (
    CorruptCheckpoint,
    build_checkpoint,
    checkpoint_name,
    read_checkpoint,
)
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.schema import Message

BOOTSTRAP_FILE = "bootstrap.checkpoint"
METADATA_PARTITION = "__cluster_metadata-0"
FIRST_CHECKPOINT = f"{METADATA_PARTITION}/{checkpoint_name(SnapshotId(0, 0))}"
SCRAM_LEAST_LEVEL = 11
"""3.5-IV2: the first metadata version that can store credentials."""


class CorruptBootstrap(Exception):
    """The file holds no bootstrap metadata that this release can use."""


@dataclass(frozen=True, slots=True)
class BootstrapMetadata:
    records: tuple[Message, ...]
    metadata_level: int

    @classmethod
    def of(cls, records: Sequence[Message]) -> "BootstrapMetadata":
        """`FeatureError` unless they set a metadata version that is known here."""
        level = None
        for record in records:
            if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
                level = record.feature_level
        if level is None:
            raise FeatureError(f"No FeatureLevelRecord for {METADATA_VERSION} was found")
        return cls(tuple(records), feature(METADATA_VERSION).at(level).level)

    @property
    def feature_levels(self) -> dict[str, int]:
        levels = [record for record in self.records if isinstance(record, FeatureLevelRecord)]
        return {record.name: record.feature_level for record in levels}

    def encode(self, now_ms: int) -> bytes:
        """The contents of `bootstrap.checkpoint`."""
        values = [
            encode_record(record, record_version(type(record).__name__, self.metadata_level))
            for record in self.records
        ]
        return b"".join(
            build_checkpoint(
                [values],
                last_appended_at_ms=0,
                timestamp_ms=now_ms,
                kraft_version=None,
                voters=None,
            )
        )


def bootstrap_metadata(
    metadata_level: int, levels: Mapping[str, int], credentials: Sequence[Message] = ()
) -> BootstrapMetadata:
    """What `format` writes: metadata version first, the other features by name, 0 left out."""
    if credentials and metadata_level < SCRAM_LEAST_LEVEL:
        least = name_of_level(SCRAM_LEAST_LEVEL)
        raise FeatureError(f"SCRAM is only supported in {METADATA_VERSION} {least} or later.")
    others = sorted(
        name
        for name, level in levels.items()
        if name not in (METADATA_VERSION, KRAFT_VERSION) and level > 0
    )
    records: list[Message] = [FeatureLevelRecord(METADATA_VERSION, metadata_level)]
    records += [FeatureLevelRecord(name, levels[name]) for name in others]
    return BootstrapMetadata((*records, *credentials), metadata_level)


def effective_levels(
    metadata_level: int, wanted: Mapping[str, int], *, unstable: bool = False
) -> dict[str, int]:
    """Levels of all features, by name: as wanted, else as the release has them.

    `FeatureError` if one does not exist, is not stable, or lacks another that it depends on.
    """
    for name in wanted:
        feature(name)
    levels = {
        name: wanted.get(name, one.default_level_at(metadata_level))
        for name, one in sorted(FEATURES.items())
    }
    levels[METADATA_VERSION] = metadata_level
    for name, level in levels.items():
        if not feature(name).at(level).is_production and not unstable:
            shown = name_of_level(level) if name == METADATA_VERSION else level
            raise FeatureError(f"{name} {shown} is not yet stable.")
        if name != METADATA_VERSION:
            check_dependencies(name, level, levels)
    return levels


def read_bootstrap(data: Buffer) -> BootstrapMetadata:
    """What a file says; `CorruptBootstrap` if that is not bootstrap metadata."""
    try:
        content = read_checkpoint(data)
        values = [value for batch in content.batches for value in batch]
        return BootstrapMetadata.of([decode_record(value) for value in values])
    except (CorruptCheckpoint, BadMetadataRecord, FeatureError) as error:
        raise CorruptBootstrap(str(error)) from error


def load_bootstrap(disk: Disk, metadata_directory: str) -> BootstrapMetadata:
    """The bootstrap metadata of a formatted directory, wherever its Kafka left them.

    A directory without any, of a Kafka before 3.3, starts with the latest metadata version.
    """
    path = f"{metadata_directory}/{BOOTSTRAP_FILE}"
    data = disk.read(path)
    if data is None:
        path = f"{metadata_directory}/{FIRST_CHECKPOINT}"
        data = disk.read(path)
        if data is None or not _has_values(path, data):
            return bootstrap_metadata(latest_production(), {})
    try:
        return read_bootstrap(data)
    except CorruptBootstrap as error:
        raise CorruptBootstrap(f"{path}: {error}") from error


def _has_values(path: str, data: bytes) -> bool:
    """The first snapshot of 4.3 names the voters and nothing else."""
    try:
        return any(read_checkpoint(data).batches)
    except CorruptCheckpoint as error:
        raise CorruptBootstrap(f"{path}: {error}") from error
