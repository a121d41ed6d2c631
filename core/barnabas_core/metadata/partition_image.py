"""One partition: who keeps it, who leads it, and how far each of its numbers has come."""

from typing import Final, NamedTuple

from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2
NO_RECOVERY_CHANGE: Final = -1
RECOVERED: Final = 0
RECOVERING: Final = 1
"""The leader was elected uncleanly and has not yet taken in what that may have lost (KIP-704)."""

UNASSIGNED_DIRECTORY: Final = bytes(16)
LOST_DIRECTORY: Final = bytes(15) + b"\x01"
MIGRATING_DIRECTORY: Final = bytes(15) + b"\x02"


class PartitionImage(NamedTuple):
    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    """Of each replica, in the order of `replicas`."""
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    def directory_of(self, broker_id: int) -> bytes:
        return self.directories[self.replicas.index(broker_id)]

    @classmethod
    def from_record(cls, record: PartitionRecord) -> "PartitionImage":
        replicas = tuple(record.replicas)
        # Written before directories were known (KIP-858): each broker will tell.
        directories = tuple(record.directories) or (MIGRATING_DIRECTORY,) * len(replicas)
        return cls(
            replicas,
            directories,
            # Mostly all replicas are in sync: one tuple says both, in half the memory.
            replicas if record.isr == record.replicas else tuple(record.isr),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
            record.leader,
            record.leader_recovery_state,
            record.leader_epoch,
            record.partition_epoch,
        )

    def to_record(self, topic_id: bytes, partition: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=list(self.directories),
            eligible_leader_replicas=list(self.eligible_leader_replicas) or None,
            last_known_elr=list(self.last_known_elr) or None,
        )

    def merged(self, record: PartitionChangeRecord) -> "PartitionImage":
        """What a change makes of it: what the record leaves out stays.

        Naming a leader, even the same one, begins a new leader epoch; any change is a new
        partition epoch.
        """
        names_leader = record.leader != NO_LEADER_CHANGE
        recovery = record.leader_recovery_state
        return PartitionImage(
            _changed(self.replicas, record.replicas),
            self._merged_directories(record),
            _changed(self.isr, record.isr),
            _changed(self.removing_replicas, record.removing_replicas),
            _changed(self.adding_replicas, record.adding_replicas),
            _changed(self.eligible_leader_replicas, record.eligible_leader_replicas),
            _changed(self.last_known_elr, record.last_known_elr),
            record.leader if names_leader else self.leader,
            self.leader_recovery_state if recovery == NO_RECOVERY_CHANGE else recovery,
            self.leader_epoch + names_leader,
            self.partition_epoch + 1,
        )

    def _merged_directories(self, record: PartitionChangeRecord) -> tuple[bytes, ...]:
        size = len(self.replicas if record.replicas is None else record.replicas)
        given = self.directories if record.directories is None else tuple(record.directories)
        # Where no directory was ever told, records of other replicas do not name any either.
        if all(directory == MIGRATING_DIRECTORY for directory in given):
            return (MIGRATING_DIRECTORY,) * size
        assert len(given) == size, f"{len(given)} directories for {size} replicas"
        return given


def _changed(old: tuple[int, ...], new: list[int] | None) -> tuple[int, ...]:
    return old if new is None else tuple(new)
