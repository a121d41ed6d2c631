"""Brokers with one mistake each: what the `cluster` profile must find.

Each variant patches the product's code for as long as it is entered.
"""

from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from barnabas_broker import service as service_module
from barnabas_broker.directory_facts import DirectoryFacts, read_directory_facts
from barnabas_broker.fetching.session_keeper import SessionKeeper
from barnabas_broker.partitions.leadership import Leadership
from barnabas_broker.partitions.partition import Partition, WriteWaiter
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_broker.replication.followed_partition import FollowedPartition
from barnabas_broker.replication.isr_keeper import IsrKeeper
from barnabas_broker.replication.leader_stream import LeaderStream
from barnabas_broker.replication.message import Ack, Subscribe, Subscribed
from barnabas_broker.replication.replica_service import ReplicaService
from barnabas_broker.replication.subscription import FollowerStream
from barnabas_broker.service import BrokerService
from barnabas_broker.storage import Storage
from barnabas_core.log import writable_log
from barnabas_core.metadata.image import Image
from barnabas_core.ports import Disk
from tests.sim.broken import Variant

# --- when a record counts as committed


def acknowledges_what_the_leader_alone_has() -> AbstractContextManager[object]:
    def when_committed(self: Partition, last_offset: int, waiter: WriteWaiter, token: int) -> None:
        if last_offset < self.log.log_end_offset:
            waiter.on_written(token)
        else:
            self.when_written(last_offset, waiter, token)

    return patch.object(Partition, "when_committed", when_committed)


def commits_without_the_last_of_the_isr() -> AbstractContextManager[object]:
    counts = Leadership._counts

    def without_the_last(self: Leadership, broker_id: int) -> bool:
        return counts(self, broker_id) and broker_id != self.isr[-1]

    return patch.object(Leadership, "_counts", without_the_last)


def does_not_wait_for_who_joins() -> AbstractContextManager[object]:
    return patch.object(Leadership, "_counts", lambda self, broker_id: broker_id in self.isr)


def commits_below_the_minimum_isr() -> AbstractContextManager[object]:
    return patch.object(Leadership, "is_under_min_isr", lambda *_: False)


def counts_what_is_not_written() -> AbstractContextManager[object]:
    """A follower acknowledges what it has taken, before it is in its file."""
    on_records = LeaderStream._on_records

    def and_acknowledge(self: LeaderStream, subscription: int, body: Any) -> None:  # noqa: ANN401
        on_records(self, subscription, body)
        followed = self._subscriptions.get(subscription)
        if followed is not None:
            self.on_written(followed)

    def ack_staged(self: FollowedPartition) -> Ack:
        log = self.partition.log
        return Ack(self.subscription, log.staged_end_offset, log.log_start_offset)

    stack = ExitStack()
    stack.enter_context(patch.object(LeaderStream, "_on_records", and_acknowledge))
    stack.enter_context(patch.object(FollowedPartition, "ack", ack_staged))
    return stack


def shows_what_is_not_committed() -> AbstractContextManager[object]:
    """Readers see the log's end, and are told that it is the high watermark."""

    def visible_end(self: Partition, *, read_committed: bool) -> int:
        self.log.high_watermark = self.log.log_end_offset
        return self.log.log_end_offset

    return patch.object(Partition, "visible_end", visible_end)


# --- who is in sync


def joins_without_what_earlier_leaders_wrote() -> AbstractContextManager[object]:
    decide = Leadership.decide_isr

    def with_less(self: Leadership, *arguments: Any) -> tuple[int, ...] | None:  # noqa: ANN401
        start, self.start_offset = self.start_offset, 0
        try:
            return decide(self, *arguments)
        finally:
            self.start_offset = start

    return patch.object(Leadership, "decide_isr", with_less)


def takes_silence_for_a_refusal() -> AbstractContextManager[object]:
    """Whatever went wrong, what was proposed is not counted with any more."""
    propose = IsrKeeper._propose

    async def and_forget(self: IsrKeeper, proposals: list[Any]) -> list[Any]:
        again = await propose(self, proposals)
        for one in proposals:
            if one.is_current:
                one.leadership.refused(one.partition_epoch)
        return again[:0]

    return patch.object(IsrKeeper, "_propose", and_forget)


def always_claims_a_clean_shutdown() -> AbstractContextManager[object]:
    join = BrokerService._join
    claims: dict[int, tuple[Disk, int]] = {}

    async def and_remember(self: BrokerService) -> None:
        await join(self)
        claims[id(self._on.disk)] = (self._on.disk, self.lifecycle.broker_epoch)

    def with_claim(disk: Disk, paths: Any) -> DirectoryFacts:  # noqa: ANN401
        facts = read_directory_facts(disk, paths)
        claim = claims.get(id(disk))
        return facts if claim is None else facts._replace(previous_broker_epoch=claim[1])

    stack = ExitStack()
    stack.enter_context(patch.object(BrokerService, "_join", and_remember))
    stack.enter_context(patch.object(service_module, "read_directory_facts", with_claim))
    return stack


# --- what followers take over


def followers_keep_what_differs() -> AbstractContextManager[object]:
    """They ask as if they had nothing that could differ."""
    request = FollowedPartition.request

    def without_epoch(self: FollowedPartition, subscription: int) -> Subscribe:
        return request(self, subscription)._replace(last_epoch=-1)

    stack = ExitStack()
    stack.enter_context(patch.object(Storage, "_truncate_now", lambda *_: None))
    stack.enter_context(patch.object(FollowedPartition, "request", without_epoch))
    return stack


def leaders_do_not_look_for_differences() -> AbstractContextManager[object]:
    subscribe = ReplicaService._subscribe

    def without_epoch(
        self: ReplicaService, stream: FollowerStream, wanted: Subscribe, epoch: int
    ) -> Subscribed:
        return subscribe(self, stream, wanted._replace(last_epoch=-1), epoch)

    return patch.object(ReplicaService, "_subscribe", without_epoch)


def followers_do_not_know_producers() -> AbstractContextManager[object]:
    return patch.object(writable_log, "replay_batch", lambda *_: None)


# --- what is left of earlier lives


def passes_through_an_old_snapshot() -> AbstractContextManager[object]:
    """What a broker was given since is deleted, and made anew, empty."""

    def step_by_step(self: MetadataApplier) -> Image:
        self._loader.publish()
        return self._loader.image

    return patch.object(MetadataApplier, "catch_up", step_by_step)


def takes_the_log_of_an_earlier_topic() -> AbstractContextManager[object]:
    keep = Storage.keep

    async def keep_any(
        self: Storage, topic: str, index: int, topic_id: bytes, directory_id: bytes
    ) -> Partition | None:
        log = self.logs.get(topic, index)
        if log is not None and self.partitions.find(topic, index) is None:
            log.topic_id = topic_id
        return await keep(self, topic, index, topic_id, directory_id)

    return patch.object(Storage, "keep", keep_any)


# --- who reads


def followers_show_all_they_have() -> AbstractContextManager[object]:
    on_written = FollowedPartition.on_written

    def and_show(self: FollowedPartition) -> None:
        on_written(self)
        self.partition.show_up_to(self.partition.log.log_end_offset)

    return patch.object(FollowedPartition, "on_written", and_show)


def followers_keep_what_was_deleted() -> AbstractContextManager[object]:
    on_state = FollowedPartition.on_state

    def without_start(self: FollowedPartition, high_watermark: int, log_start: int) -> bool:
        return on_state(self, high_watermark, min(log_start, 0))

    return patch.object(FollowedPartition, "on_state", without_start)


def sessions_do_not_hear_how_far_their_clients_are() -> AbstractContextManager[object]:
    return patch.object(SessionKeeper, "_update", lambda *_: None)


def _named(*variants: Variant) -> dict[str, Variant]:
    return {variant.__name__: variant for variant in variants}


VARIANTS = _named(
    acknowledges_what_the_leader_alone_has,
    commits_without_the_last_of_the_isr,
    counts_what_is_not_written,
    shows_what_is_not_committed,
    leaders_do_not_look_for_differences,
    followers_do_not_know_producers,
    takes_the_log_of_an_earlier_topic,
    sessions_do_not_hear_how_far_their_clients_are,
)
RARE_VARIANTS = _named(
    does_not_wait_for_who_joins,
    joins_without_what_earlier_leaders_wrote,
    followers_keep_what_differs,
    commits_below_the_minimum_isr,
    takes_silence_for_a_refusal,
    passes_through_an_old_snapshot,
    followers_show_all_they_have,
    followers_keep_what_was_deleted,
    always_claims_a_clean_shutdown,
)
