"""Changes to a registration as records, and the state after records that are not appended yet."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from barnabas_controller.managers.replica_index import ReplicaIndex
from barnabas_controller.managers.view import View
from barnabas_core.metadata.cluster_image import BrokerImage
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feature import record_version
from barnabas_core.metadata.image import Image
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.schema import Message

_FENCED: Final = 1
_UNFENCED: Final = -1


def fenced(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    return _change(broker, fenced=_FENCED)


def unfenced(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    return _change(broker, fenced=_UNFENCED)


def in_controlled_shutdown(broker: BrokerImage) -> BrokerRegistrationChangeRecord:
    return _change(broker, in_controlled_shutdown=1)


def with_log_dirs(
    broker: BrokerImage, directories: Sequence[bytes]
) -> BrokerRegistrationChangeRecord:
    assert directories, "a change cannot say that no directory is left"
    return _change(broker, log_dirs=list(directories))


def with_cordoned_dirs(
    broker: BrokerImage, directories: Sequence[bytes]
) -> BrokerRegistrationChangeRecord:
    return _change(broker, cordoned_log_dirs=list(directories))


def knows_directories(image: Image) -> bool:
    """Do registrations carry log directories at this metadata version (KIP-858)?"""
    return record_version("RegisterBrokerRecord", image.metadata_level) >= 3


def knows_cordoned_dirs(image: Image) -> bool:
    """KIP-1066."""
    return record_version("RegisterBrokerRecord", image.metadata_level) >= 4


def view_after(view: View, records: Sequence[Message]) -> View:
    """What a decision will see once these records are replayed; `view` itself stays.

    The index is built anew, which is slow for many partitions: only for the rare decision whose
    later records depend on its earlier ones.
    """
    if not records:
        return view
    delta = Delta(view.image)
    for record in records:
        delta.replay(record)
    image = delta.apply(view.image.provenance)
    return replace(
        view,
        image=image,
        replicas=ReplicaIndex(image.topics),
        next_offset=view.next_offset + len(records),
    )


def _change(
    broker: BrokerImage,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: list[bytes] | None = None,
    cordoned_log_dirs: list[bytes] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs or [],
        cordoned_log_dirs=cordoned_log_dirs,
    )
