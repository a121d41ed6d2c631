"""All partitions that this broker follows, by the broker that leads them."""

import asyncio

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.replication.followed_partition import FollowedPartition
from barnabas_broker.replication.leader_stream import FollowerParts, LeaderStream
from barnabas_core.metadata.image import Image
from barnabas_core.ports.link import Address, Purpose
from barnabas_core.raft.internal_address import INTERNAL_LISTENER
from barnabas_core.runtime.supervisor import TaskList


class Followers:
    def __init__(self, on: FollowerParts) -> None:
        self._on = on
        self._streams: dict[tuple[int, Address, Purpose], LeaderStream] = {}
        self._closing = TaskList(on.log)

    def follow(self, partition: Partition, image: Image) -> None:
        """Its leader and epoch are those that the partition was told."""
        following = partition.following
        address = _address_of(image, partition.leader_id)
        if isinstance(following, FollowedPartition):
            stream = following.stream
            is_same_leader = (stream.leader_id, stream.address) == (partition.leader_id, address)
            if is_same_leader and following.leader_epoch == partition.leader_epoch:
                return
            self.release(partition)
        if address is None:
            return  # nobody leads it at present
        stream = self._stream(partition.leader_id, address, Purpose.REPLICA)
        followed = FollowedPartition(partition, partition.leader_epoch, stream)
        partition.following = followed
        stream.add(followed)

    def release(self, partition: Partition) -> None:
        following, partition.following = partition.following, None
        if isinstance(following, FollowedPartition):
            following.stream.remove(following)

    def close_idle(self) -> None:
        """After a change: on some streams nobody is followed any more."""
        for key, stream in list(self._streams.items()):
            if not len(stream):
                del self._streams[key]
                # Not awaited: a leader that was stopped takes its time, and others wait for news.
                self._closing.start(stream.close())

    async def close(self) -> None:
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            await stream.close()
        while len(self._closing):  # noqa: ASYNC110 - each ends within a deadline of its own
            await asyncio.sleep(0.01)

    def _stream(self, leader_id: int, address: Address, lane: Purpose) -> LeaderStream:
        key = leader_id, address, lane
        if key not in self._streams:
            self._streams[key] = LeaderStream(leader_id, address, lane, self._on, self._move)
        return self._streams[key]

    def _move(self, followed: FollowedPartition, lane: Purpose) -> None:
        earlier = followed.stream
        earlier.remove(followed)
        followed.stream = self._stream(earlier.leader_id, earlier.address, lane)
        followed.stream.add(followed)


def _address_of(image: Image, broker_id: int) -> Address | None:
    broker = image.cluster.brokers.get(broker_id)
    listener = None if broker is None else broker.listener(INTERNAL_LISTENER)
    return None if listener is None else Address(listener.host, listener.port)
