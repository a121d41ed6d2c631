"""AlterReplicaLogDirs (key 34), served v1-v2 (KIP-113).

v2 flexible. Answered when the moves have begun: DescribeLogDirs tells how far they are. Asked for a
partition that is not here, the broker remembers where to make it should it come, and answers
REPLICA_NOT_AVAILABLE. A move to where the replica lies already ends one that is under way.
"""

from typing import Protocol

from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from barnabas_core.wire.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


class Moves(Protocol):
    async def request(self, topic: str, index: int, path: str) -> ErrorCode: ...


class AlterReplicaLogDirsHandler:
    def __init__(self, moves: Moves) -> None:
        self._moves = moves

    async def handle(
        self, request: AlterReplicaLogDirsRequest, context: RequestContext
    ) -> AlterReplicaLogDirsResponse:
        results: dict[str, AlterReplicaLogDirTopicResult] = {}
        for directory in request.dirs:
            for topic in directory.topics:
                result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
                for index in topic.partitions:
                    error = await self._moves.request(topic.name, index, directory.path)
                    result.partitions.append(AlterReplicaLogDirPartitionResult(index, error))
        return AlterReplicaLogDirsResponse(results=list(results.values()))
