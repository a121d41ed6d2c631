"""Which partitions this broker keeps, and what it is to them: made, led, given up, deleted.

One delta is applied at a time, and the image is shown to clients after it: whoever is told of a
partition finds it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.replicas.topic_configs import TopicConfigs
from barnabas_broker.replication.followers import Followers
from barnabas_broker.storage import Storage
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.metadata.topics_image import TopicImage
from barnabas_core.ports import Clock


class Kept(NamedTuple):
    """A partition of which this broker is a replica."""

    topic: TopicImage
    number: int
    partition: PartitionImage


class Replicas:
    def __init__(
        self,
        storage: Storage,
        view: ClusterView,
        configs: TopicConfigs,
        followers: Followers,
        clock: Clock,
    ) -> None:
        self._storage = storage
        self._view = view
        self._configs = configs
        self._followers = followers
        self._clock = clock

    async def apply(self, delta: Delta, image: Image) -> None:
        self._configs.update(image)
        async with self._storage.changing:
            if delta.base is EMPTY_IMAGE:
                await self._set_strays_aside(image)
            for topic in delta.topics.deleted.values():
                for index in topic.partitions:
                    await self._delete(topic.name, index)
            await self._delete_moved(delta, image)
            for kept in self._changed(delta, image):
                await self._keep(kept, image)
        self._update_configs(delta)
        self._view.image = image
        self._followers.close_idle()

    def _changed(self, delta: Delta, image: Image) -> Iterator[Kept]:
        for topic_id, indexes in delta.topics.changed.items():
            topic = image.topics.by_id[topic_id]
            for index in indexes:
                partition = topic.partitions[index]
                if self._view.node_id in partition.replicas:
                    yield Kept(topic, index, partition)

    async def _set_strays_aside(self, image: Image) -> None:
        """Logs of topics that went while this broker was away.

        Their files stay: should the metadata be lost, they are all that is left.
        """
        for log in list(self._storage.logs.logs()):
            if image.topics.named(log.topic) is None:
                await self._storage.set_aside(log.topic, log.partition)

    async def _delete_moved(self, delta: Delta, image: Image) -> None:
        """Partitions that another broker keeps from now on."""
        for topic_id, indexes in delta.topics.changed.items():
            topic = image.topics.by_id[topic_id]
            for index in indexes:
                if self._view.node_id not in topic.partitions[index].replicas:
                    await self._delete(topic.name, index)

    async def _delete(self, topic: str, index: int) -> None:
        found = self._storage.partitions.find(topic, index)
        if found is not None:
            self._followers.release(found)
        await self._storage.delete(topic, index)

    async def _keep(self, kept: Kept, image: Image) -> None:
        earlier = self._storage.partitions.find(kept.topic.name, kept.number)
        directory_id = kept.partition.directory_of(self._view.node_id)
        found = await self._storage.keep(kept.topic.name, kept.number, kept.topic.id, directory_id)
        if earlier is not None and earlier is not found:
            self._followers.release(earlier)  # of a topic of the same name, deleted meanwhile
        if found is None:
            return
        partition = kept.partition
        was_leader = found.is_leader
        if partition.leader == self._view.node_id:
            self._followers.release(found)
            found.lead(self._view.node_id, partition, self._clock.monotonic_ms())
        else:
            found.follow(partition)
            self._followers.follow(found, image)
        if found.is_leader != was_leader:
            self._storage.on_role_changed(found)

    def _update_configs(self, delta: Delta) -> None:
        changed = delta.changed_configs
        everything = any(resource.type == BROKER_RESOURCE for resource in changed)
        topics = {resource.name for resource in changed if resource.type == TOPIC_RESOURCE}
        if not everything and not topics:
            return
        for partition in self._storage.partitions:
            topic = partition.log.topic
            if everything or topic in topics:
                partition.log.config = self._configs.of(topic)
