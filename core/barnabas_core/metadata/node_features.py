"""What a node of this release supports, and what the cluster has agreed on.

Nodes announce ranges when they register; ApiVersions shows both to clients.
"""

from barnabas_core.metadata.cluster_image import SupportedFeature
from barnabas_core.metadata.feature import FEATURES, KRAFT_VERSION, METADATA_VERSION
from barnabas_core.metadata.image import Image


def local_features(*, unstable: bool = False) -> tuple[SupportedFeature, ...]:
    """With `unstable`, also the levels that still change (`unstable.feature.versions.enable`)."""
    ranges = (
        SupportedFeature(one.name, one.minimum, one.maximum(unstable=unstable))
        for one in FEATURES.values()
    )
    return tuple(one for one in ranges if one.maximum > 0)


def finalized_features(image: Image, kraft_version: int) -> dict[str, int]:
    """Level by name, without those that are off, in a stable order.

    Their epoch is `finalized_epoch`.
    """
    levels = {**image.features, METADATA_VERSION: image.metadata_level}
    if kraft_version > 0:
        levels[KRAFT_VERSION] = kraft_version
    return dict(sorted(levels.items()))


def finalized_epoch(image: Image) -> int:
    """It grows with every change: of two answers, the one with the higher epoch is newer."""
    return image.provenance.offset
