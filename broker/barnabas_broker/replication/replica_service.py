"""Followers' streams to this broker, as their leader."""

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.replication.message import (
    UPDATE,
    BadMessage,
    Subscribe,
    Subscribed,
    decode_update,
    encode_results,
)
from barnabas_broker.replication.subscription import FollowerStream, LeaderParts
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, Loss
from barnabas_core.runtime.supervisor import TaskList
from barnabas_core.wire.error_code import ErrorCode

_UNDEFINED = -1


class ReplicaService:
    """A `Service` for `Purpose.REPLICA`."""

    def __init__(self, view: ClusterView, tasks: TaskList, on: LeaderParts) -> None:
        self._view = view
        self._tasks = tasks
        self._on = on
        self._streams: dict[Caller, FollowerStream] = {}

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if caller.identity.role != "broker" or call.api_key != UPDATE:
            raise CallRefused("this stream is for the replication of brokers")
        stream = self._streams.get(caller) or self._open(caller)
        try:
            update = decode_update(call.body)
            for number in update.cancel:
                stream.cancel(number)
            for ack in update.acks:
                stream.acknowledge(ack)
        except BadMessage as error:
            caller.close()
            raise CallRefused(str(error)) from error
        results = [self._subscribe(stream, one, update.broker_epoch) for one in update.subscribe]
        return encode_results(results)

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        stream = self._streams.pop(caller, None)
        if stream is not None:
            stream.close()

    def _open(self, caller: Caller) -> FollowerStream:
        for other in list(self._streams):
            if other.identity.node_id == caller.identity.node_id:
                # The same broker again: what the earlier stream still says is out of date.
                self.on_lost(other, Loss.CLOSED)
                other.close()
        stream = self._streams[caller] = FollowerStream(caller, self._on)
        self._tasks.start(stream.run())
        return stream

    def _subscribe(self, stream: FollowerStream, wanted: Subscribe, epoch: int) -> Subscribed:
        number = wanted.subscription
        found = self._find(wanted)
        if isinstance(found, ErrorCode):
            return Subscribed(number, found)
        log, leadership = found.log, found.leadership
        assert leadership is not None
        ends = (log.log_start_offset, log.log_end_offset)
        if wanted.last_epoch != _UNDEFINED:
            own_epoch, own_end = log.end_offset_for_epoch(wanted.last_epoch)
            if own_epoch == _UNDEFINED or own_end == _UNDEFINED:
                return Subscribed(number, ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, *ends)
            if own_epoch < wanted.last_epoch or own_end < wanted.offset:
                return Subscribed(number, ErrorCode.NONE, own_epoch, own_end, *ends)
        if not ends[0] <= wanted.offset <= ends[1]:
            return Subscribed(number, ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, *ends)
        if not leadership.on_subscribed(stream.follower_id, epoch, wanted.offset):
            return Subscribed(number, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        stream.subscribe(number, found, wanted.offset)
        found.on_acked(stream.follower_id, wanted.offset, self._on.clock.monotonic_ms())
        if stream.follower_id not in leadership.isr:
            self._on.isr.look_at(found)
        return Subscribed(number, ErrorCode.NONE, -1, -1, *ends)

    def _find(self, wanted: Subscribe) -> Partition | ErrorCode:
        topic = self._view.topic_by_id(wanted.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = self._on.partitions.find(topic.name, wanted.partition)
        if partition is None or partition.log.topic_id != wanted.topic_id:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        error = partition.check_leader(wanted.leader_epoch)
        return partition if error is ErrorCode.NONE else error
