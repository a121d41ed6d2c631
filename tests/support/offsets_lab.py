"""A shard of groups to commit offsets to: `ShardLab` with topics, transactions and made-up groups.

What the log would hold of transactions (records of a producer, markers) is kept in order with all
the rest, and replayed as whoever runs a shard replays it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.group.group_state import Claim, GroupType
from barnabas_coordinator.shard.decision import Decision, Env, Producer, Record
from barnabas_coordinator.shard.record_codec import decode_record, encode_record
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.records.control import ControlType, EndTransaction
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)
from barnabas_core.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from tests.support.cluster_image import replayed, topic
from tests.support.shard_lab import ShardLab

PARTITIONS = 4
Entry = tuple[bytes, bytes | None, Producer | None]
Marker = tuple[Producer, EndTransaction]


def id_of(name: str, generation: int = 0) -> bytes:
    """Of the topic of this name that is there for the time being."""
    return name.encode().rjust(15, b".") + bytes([generation])


def image_of(names: Iterable[str], generations: Mapping[str, int] | None = None) -> Image:
    records = []
    for name in names:
        topic_id = id_of(name, (generations or {}).get(name, 0))
        records += topic(name, topic_id, replicas=[(1,)] * PARTITIONS)
    return replayed(records)[1]


@dataclass(slots=True)
class MadeUpGroup:
    """Says what it is told to."""

    group_id: str
    type: GroupType = GroupType.CLASSIC
    state_name: str = "Stable"
    protocol_type: str = "consumer"
    is_empty: bool = False
    member_count: int = 1
    commit_error: ErrorCode = ErrorCode.NONE
    fetch_error: ErrorCode = ErrorCode.NONE
    delete_error: ErrorCode = ErrorCode.NON_EMPTY_GROUP
    subscribed: frozenset[str] = frozenset()
    expire_from_ms: int | None = None
    claims: list[Claim] = field(default_factory=list)
    fetchers: list[tuple[str, int]] = field(default_factory=list)

    def check_commit(self, claim: Claim, env: Env) -> ErrorCode:
        self.claims.append(claim)
        return self.commit_error

    def check_fetch(self, member_id: str, member_epoch: int) -> ErrorCode:
        self.fetchers.append((member_id, member_epoch))
        return self.fetch_error

    def check_delete(self) -> ErrorCode:
        return self.delete_error

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def durable(self) -> object:
        return None

    def tombstones(self) -> list[Record]:
        return [Record(GroupMetadataKey(group=self.group_id), None)]

    def offsets_expire_from_ms(self, committed_at_ms: int) -> int | None:
        return self.expire_from_ms


@dataclass
class OffsetsLab(ShardLab[GroupShard]):
    made_up: dict[str, MadeUpGroup] = field(default_factory=dict)
    """In the state of every machine, as if there were records of them."""
    entries: list[Entry | Marker] = field(default_factory=list)

    def add(self, group: MadeUpGroup) -> MadeUpGroup:
        self.made_up[group.group_id] = group
        self.machine.state.groups[group.group_id] = group
        return group

    def end_transaction(self, producer: Producer, *, commit: bool) -> None:
        """By a marker that is in the log."""
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        self._end(producer, EndTransaction(kind, 0))

    def _end(self, producer: Producer, marker: EndTransaction) -> None:
        self.entries.append((producer, marker))
        self.machine.on_marker(producer, marker, self.env)

    def _take(self, decisions: list[Decision], *, keep: bool = False) -> None:
        if not keep:
            self.new_records = []
        for decision in decisions:
            assert not (decision.answers and decision.jobs)
            if decision.marker is not None:
                assert decision.producer is not None
                self._end(decision.producer, decision.marker)
            for record in decision.records:
                self.new_records.append(record)
                entry = (*encode_record(record), decision.producer)
                self.entries.append(entry)
                self._enter(self.machine, entry)
            for call, message in decision.answers:
                assert call not in self.answers
                self.answers[call] = message

    def _enter(self, machine: GroupShard, entry: Entry | Marker) -> None:
        if len(entry) == 2:
            machine.on_marker(entry[0], entry[1], self.env)
            return
        key, value, producer = entry
        record = decode_record(self.kinds, key, value)
        if producer is None:
            machine.replay(record.key, record.value, self.env)
        else:
            machine.replay_pending(record.key, record.value, producer, self.env)

    def loaded(self) -> GroupShard:
        machine = self.make()
        machine.state.groups.update(self.made_up)
        for entry in self.entries:
            self._enter(machine, entry)
        return machine

    # --- what clients ask

    def commit(
        self,
        at: tuple[str, str, int],
        offset: int,
        *,
        version: int = 9,
        metadata: str | None = "",
        leader_epoch: int = -1,
        generation: int = -1,
        member_id: str = "",
        retention_ms: int = -1,
    ) -> ErrorCode:
        group, name, partition = at
        wanted = OffsetCommitRequestPartition(partition, offset, leader_epoch, metadata)
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    "" if version >= 10 else name,
                    id_of(name) if version >= 10 else bytes(16),
                    [wanted],
                )
            ],
        )
        answer = self.ask(request, OffsetCommitResponse, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def commit_in_transaction(
        self,
        producer: Producer,
        at: tuple[str, str, int],
        offset: int,
        *,
        generation: int = -1,
        version: int = 5,
    ) -> ErrorCode:
        group, name, partition = at
        request = TxnOffsetCommitRequest(
            transactional_id="transactions",
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            generation_id_or_member_epoch=generation,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name,
                    id_of(name) if version >= 6 else bytes(16),
                    [TxnOffsetCommitRequestPartition(partition, offset)],
                )
            ],
        )
        answer = self.ask(request, TxnOffsetCommitResponse, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def fetched(
        self, at: tuple[str, str, int], *, require_stable: bool = False, version: int = 9
    ) -> OffsetFetchResponsePartitions:
        group, name, partition = at
        topics = [OffsetFetchRequestTopics(name, id_of(name), [partition])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=require_stable
        )
        answer = self.ask(request, OffsetFetchResponse, version)
        return answer.groups[0].topics[0].partitions[0]

    def offset(self, at: tuple[str, str, int]) -> int:
        """-1: there is none."""
        return self.fetched(at).committed_offset


def offsets_lab(image: Image = EMPTY_IMAGE, settings: GroupSettings | None = None) -> OffsetsLab:
    lab = OffsetsLab(lambda: GroupShard(settings or GroupSettings()), durable_state, image=image)
    lab.machine.on_loaded(lab.env)
    return lab


def durable_state(shard: GroupShard) -> object:
    groups = {group_id: one.durable() for group_id, one in shard.state.groups.items()}
    kept = {group_id: one for group_id, one in groups.items() if one is not None}
    return shard.state.offsets.durable(), kept
