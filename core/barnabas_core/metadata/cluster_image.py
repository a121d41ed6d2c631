"""Brokers and controllers as they registered themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from barnabas_core.metadata.keyed_image import differing
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from barnabas_core.wire.messages.register_controller_record import RegisterControllerRecord
from barnabas_core.wire.messages.unfence_broker_record import UnfenceBrokerRecord
from barnabas_core.wire.messages.unregister_broker_record import UnregisterBrokerRecord


class ListenerImage(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: int


class SupportedFeature(NamedTuple):
    name: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    id: int
    epoch: int
    """The offset of its registration: a later registration of the same broker has a higher one."""
    incarnation_id: bytes
    listeners: tuple[ListenerImage, ...]
    features: tuple[SupportedFeature, ...]
    rack: str | None
    is_fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    """Its online directories, sorted; empty if it did not say."""
    cordoned_log_dirs: tuple[bytes, ...]

    @property
    def is_active(self) -> bool:
        """Neither fenced nor on its way out: it may join an ISR and lead."""
        return not (self.is_fenced or self.in_controlled_shutdown)

    def listener(self, name: str) -> ListenerImage | None:
        return next((one for one in self.listeners if one.name == name), None)

    def has_online_dir(self, directory: bytes) -> bool:
        """Can it have a replica in this directory? Reserved ids and silence count as yes."""
        reserved = directory[:8] == bytes(8) and int.from_bytes(directory[8:]) < 100
        if reserved:
            return int.from_bytes(directory[8:]) != 1
        return not self.log_dirs or directory in self.log_dirs


@dataclass(frozen=True, slots=True)
class ControllerImage:
    id: int
    incarnation_id: bytes
    listeners: tuple[ListenerImage, ...]
    features: tuple[SupportedFeature, ...]


@dataclass(frozen=True, slots=True)
class ClusterImage:
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    controllers: Mapping[int, ControllerImage] = field(default_factory=dict)


class ClusterDelta:
    __slots__ = ("_brokers", "_controllers", "base", "changed_brokers")

    def __init__(self, base: ClusterImage) -> None:
        self.base = base
        self._brokers: dict[int, BrokerImage] | None = None
        self._controllers: dict[int, ControllerImage] | None = None
        self.changed_brokers: dict[int, None] = {}

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        self._change(
            BrokerImage(
                record.broker_id,
                record.broker_epoch,
                record.incarnation_id,
                *_announced(record),
                record.rack,
                record.fenced,
                record.in_controlled_shutdown,
                tuple(sorted(record.log_dirs)),
                tuple(sorted(record.cordoned_log_dirs or ())),
            )
        )

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        brokers = self._open_brokers()
        _check_epoch(brokers.get(record.broker_id), record.broker_id, record.broker_epoch)
        del brokers[record.broker_id]
        self.changed_brokers[record.broker_id] = None

    def replay_fence_broker(self, record: FenceBrokerRecord) -> None:
        self._change(replace(self._broker(record.id, record.epoch), is_fenced=True))

    def replay_unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._change(replace(self._broker(record.id, record.epoch), is_fenced=False))

    def replay_registration_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch)
        if record.fenced:
            broker = replace(broker, is_fenced=record.fenced > 0)
        if record.in_controlled_shutdown:
            broker = replace(broker, in_controlled_shutdown=record.in_controlled_shutdown > 0)
        if record.log_dirs:
            broker = replace(broker, log_dirs=tuple(sorted(record.log_dirs)))
        if record.cordoned_log_dirs is not None:
            broker = replace(broker, cordoned_log_dirs=tuple(sorted(record.cordoned_log_dirs)))
        self._change(broker)

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        if self._controllers is None:
            self._controllers = dict(self.base.controllers)
        self._controllers[record.controller_id] = ControllerImage(
            record.controller_id, record.incarnation_id, *_announced(record)
        )

    def become(self, after: ClusterImage) -> None:
        self.changed_brokers = differing(self.base.brokers, after.brokers)
        self._brokers = dict(after.brokers)
        self._controllers = dict(after.controllers)

    def apply(self) -> ClusterImage:
        if self._brokers is None and self._controllers is None:
            return self.base
        brokers = self.base.brokers if self._brokers is None else self._brokers
        controllers = self.base.controllers if self._controllers is None else self._controllers
        return ClusterImage(brokers, controllers)

    def _open_brokers(self) -> dict[int, BrokerImage]:
        if self._brokers is None:
            self._brokers = dict(self.base.brokers)
        return self._brokers

    def _broker(self, broker_id: int, epoch: int) -> BrokerImage:
        return _check_epoch(self._open_brokers().get(broker_id), broker_id, epoch)

    def _change(self, broker: BrokerImage) -> None:
        self._open_brokers()[broker.id] = broker
        self.changed_brokers[broker.id] = None


def _announced(
    record: RegisterBrokerRecord | RegisterControllerRecord,
) -> tuple[tuple[ListenerImage, ...], tuple[SupportedFeature, ...]]:
    """(listeners, features) of a node."""
    listeners = (
        ListenerImage(at.name, at.host, at.port, at.security_protocol) for at in record.end_points
    )
    features = (
        SupportedFeature(one.name, one.min_supported_version, one.max_supported_version)
        for one in record.features
    )
    return tuple(listeners), tuple(features)


def _check_epoch(broker: BrokerImage | None, broker_id: int, epoch: int) -> BrokerImage:
    assert broker is not None, f"a change to broker {broker_id}, which is not registered"
    assert broker.epoch == epoch, f"broker {broker_id} is of epoch {broker.epoch}, not {epoch}"
    return broker
