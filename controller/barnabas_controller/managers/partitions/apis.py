"""The apis decided here."""

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.partitions.alter_partition import decide_alter_partition
from barnabas_controller.managers.partitions.directories import decide_assign_replicas_to_dirs
from barnabas_controller.managers.partitions.elect_leaders import decide_elect_leaders
from barnabas_controller.managers.partitions.reassignment import (
    decide_alter_partition_reassignments,
    decide_list_partition_reassignments,
)
from barnabas_core.wire.api import ApiKey

APIS: tuple[Api, ...] = (
    Api(ApiKey.ALTER_PARTITION, decide_alter_partition, cluster_action=True),
    Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, decide_assign_replicas_to_dirs, cluster_action=True),
    Api(ApiKey.ELECT_LEADERS, decide_elect_leaders),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, decide_alter_partition_reassignments),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, decide_list_partition_reassignments),
)
