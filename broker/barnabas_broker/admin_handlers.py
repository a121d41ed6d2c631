"""The apis for those who look after a broker, each with its handler."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas_broker.handlers.alter_configs import AlterConfigsHandler
from barnabas_broker.handlers.alter_replica_log_dirs import AlterReplicaLogDirsHandler
from barnabas_broker.handlers.delete_records import DeleteRecordsHandler
from barnabas_broker.handlers.describe_cluster import DescribeClusterHandler
from barnabas_broker.handlers.describe_configs import DescribeConfigsHandler
from barnabas_broker.handlers.describe_log_dirs import DescribeLogDirsHandler
from barnabas_broker.handlers.describe_producers import DescribeProducersHandler
from barnabas_broker.handlers.describe_topic_partitions import DescribeTopicPartitionsHandler
from barnabas_broker.handlers.incremental_alter_configs import IncrementalAlterConfigsHandler
from barnabas_broker.handlers.offset_for_leader_epoch import OffsetForLeaderEpochHandler
from barnabas_broker.loggers import Loggers
from barnabas_core.server.dispatch import Reply, RequestContext
from barnabas_core.wire.api import ApiKey

if TYPE_CHECKING:
    from barnabas_broker.handler_table import HandlerParts


def admin_handlers(
    on: "HandlerParts",
) -> dict[ApiKey, Callable[[Any, RequestContext], Reply]]:
    view, storage, forwarder = on.view, on.storage, on.forwarder
    partitions = storage.partitions
    loggers = Loggers(view.node_id, on.log_levels)
    alter_incrementally = IncrementalAlterConfigsHandler(view.node_id, loggers, forwarder)
    topic_partitions = DescribeTopicPartitionsHandler(view, on.described_partition_count_max)
    return {
        ApiKey.DELETE_RECORDS: DeleteRecordsHandler(partitions, view, on.purgatory).handle,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochHandler(partitions, view).handle,
        ApiKey.DESCRIBE_CONFIGS: DescribeConfigsHandler(view, on.static_configs, loggers).handle,
        ApiKey.ALTER_CONFIGS: AlterConfigsHandler(view.node_id, forwarder).handle,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: alter_incrementally.handle,
        ApiKey.ALTER_REPLICA_LOG_DIRS: AlterReplicaLogDirsHandler(on.moves).handle,
        ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirsHandler(storage, view, on.executor).handle,
        ApiKey.DESCRIBE_CLUSTER: DescribeClusterHandler(view).handle,
        ApiKey.DESCRIBE_PRODUCERS: DescribeProducersHandler(partitions, view).handle,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: topic_partitions.handle,
    }
