"""The metadata of the cluster at one offset of its log. It never changes; see `Delta`."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from barnabas_core.metadata.cluster_image import ClusterImage
from barnabas_core.metadata.keyed_image import (
    AclsImage,
    ConfigsImage,
    FeaturesImage,
    QuotasImage,
    ScramImage,
    TokensImage,
)
from barnabas_core.metadata.topics_image import TopicsImage


class Provenance(NamedTuple):
    """The last record that an image holds: where, in which epoch and when it was appended."""

    offset: int = -1
    epoch: int = -1
    append_at_ms: int = -1


NOWHERE: Final = Provenance()
METADATA_VERSION: Final = "metadata.version"
MINIMUM_METADATA_LEVEL: Final = 7


@dataclass(frozen=True, slots=True)
class Image:
    provenance: Provenance = NOWHERE
    features: FeaturesImage = field(default_factory=dict)
    """Finalized levels, `metadata.version` among them; absent means level 0."""
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=dict)
    quotas: QuotasImage = field(default_factory=dict)
    next_producer_id: int = 0
    acls: AclsImage = field(default_factory=dict)
    scram: ScramImage = field(default_factory=dict)
    tokens: TokensImage = field(default_factory=dict)

    @property
    def metadata_level(self) -> int:
        return self.features.get(METADATA_VERSION, MINIMUM_METADATA_LEVEL)

    def feature(self, name: str) -> int:
        return self.features.get(name, 0)


EMPTY_IMAGE: Final = Image()
