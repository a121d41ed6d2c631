"""From what a client names to the partitions that this broker keeps."""

from typing import Final

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.fetching.target import FetchTarget, TargetKey
from barnabas_broker.partitions.registry import Partitions
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest, FetchTopic, ForgottenTopic

_TOPIC_ID_VERSION: Final = 13


def topic_key(topic: FetchTopic | ForgottenTopic, version: int) -> str | bytes:
    return topic.topic if version < _TOPIC_ID_VERSION else topic.topic_id


class TargetFinder:
    def __init__(self, partitions: Partitions, view: ClusterView) -> None:
        self._partitions = partitions
        self._view = view

    @property
    def topics(self) -> object:
        """Another object whenever topics or their partitions have changed."""
        return self._view.image.topics

    def targets(self, request: FetchRequest, version: int) -> dict[TargetKey, FetchTarget]:
        """By key. Of a partition that is named twice, the last counts."""
        targets = {}
        for topic in request.topics:
            of = topic_key(topic, version)
            name, topic_id = topic.topic, topic.topic_id
            for wanted in topic.partitions:
                key = (of, wanted.partition)
                target = targets[key] = FetchTarget(key, name, topic_id, wanted)
                self.find(target)
        return targets

    def find(self, target: FetchTarget) -> None:
        """Set its partition, or why there is none."""
        of, index = target.key
        if not isinstance(of, str):
            image = self._view.topic_by_id(of)
            target.name = "" if image is None else image.name
        partition = self._partitions.find(target.name, index)
        if partition is None:
            target.partition = None
            target.error = self._absent(target)
        elif not isinstance(of, str) and partition.log.topic_id != of:
            target.partition = None
            target.error = ErrorCode.INCONSISTENT_TOPIC_ID
        else:
            target.partition = partition

    def is_current(self, target: FetchTarget) -> bool:
        """Whether finding it again would find the same partition."""
        of, index = target.key
        if not isinstance(of, str) and self._view.topic_by_id(of) is None:
            return False
        return self._partitions.find(target.name, index) is target.partition

    def _absent(self, target: FetchTarget) -> ErrorCode:
        of, index = target.key
        if not target.name and not isinstance(of, str):
            return ErrorCode.UNKNOWN_TOPIC_ID
        return absent_partition(self._view, target.name, index)
