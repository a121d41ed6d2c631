"""The parts of a `KafkaCluster` that are about pods and disks, whatever runs in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from barnabas_operator.api.facts import Facts, FreeObject, Quantity, Rule, described

POOL_NAME = r"^[a-z][a-z0-9]{0,18}$"
IMAGE_LENGTH = 512
_QUANTITY = Facts("", length_max=32)


class DeletionPolicy(StrEnum):
    RETAIN = "Retain"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """One disk of each node, a PersistentVolumeClaim. It may grow, never shrink."""

    name: str = described(
        "Tells the disks of a pool apart.",
        default="data",
        pattern=r"^[a-z][a-z0-9]{0,11}$",
        length_max=12,
        is_structural=True,
    )
    size: Quantity = described(
        "How large it is; where it is raised, the volumes are expanded.",
        length_max=32,
        rules=(
            Rule(
                "isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",
                "a size is a quantity above zero, such as 10Gi",
            ),
            Rule("quantity(self).compareTo(quantity(oldSelf)) >= 0", "a disk cannot shrink"),
        ),
    )
    storage_class: str | None = described(
        "The StorageClass; without it the default one of Kubernetes.",
        default=None,
        length_max=253,
    )

    RULES = (
        Rule(
            "has(self.storageClass) == has(oldSelf.storageClass)"
            " && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",
            "storageClass cannot be changed: volumes stay where they were made;"
            " add another pool and drain this one",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Processor and memory of a pod's main container."""

    requests: Mapping[str, Quantity] = described(
        "What is set aside for it.", default={}, items_max=8, item=_QUANTITY
    )
    limits: Mapping[str, Quantity] = described(
        "What it cannot exceed.", default={}, items_max=8, item=_QUANTITY
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """What is added to the pods as they are made; Kubernetes' own fields under its own names."""

    labels: Mapping[str, str] = described(
        "Labels besides the operator's.",
        default={},
        items_max=32,
        item=Facts("", length_max=63),
    )
    annotations: Mapping[str, str] = described(
        "Annotations besides the operator's.",
        default={},
        items_max=32,
        item=Facts("", length_max=4096),
    )
    node_selector: Mapping[str, str] = described(
        "Labels that a node must have.", default={}, items_max=16, item=Facts("", length_max=63)
    )
    affinity: FreeObject | None = described(
        "Besides the spread over zones and hosts, which the operator asks for.", default=None
    )
    tolerations: tuple[FreeObject, ...] = described(
        "Taints that do not keep the pods away.", default=(), items_max=32
    )
    priority_class_name: str | None = described("The PriorityClass.", default=None, length_max=253)
    image_pull_secrets: tuple[str, ...] = described(
        "Names of Secrets with which images are pulled.",
        default=(),
        items_max=8,
        item=Facts("", length_max=253),
    )
    termination_grace_period_seconds: int | None = described(
        "How long a node may take to hand over what it leads; without it 120.",
        default=None,
        minimum=1,
        maximum=3600,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSettings:
    """What every role has."""

    resources: Resources | None = described("Processor and memory.", default=None)
    image: str | None = described(
        "Another image than that of spec.version.", default=None, length_max=IMAGE_LENGTH
    )
    template: PodTemplate | None = described("What is added to the pods.", default=None)
