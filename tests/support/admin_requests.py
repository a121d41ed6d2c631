"""One well-formed request for each api of those who look after a cluster, as plain values.

They are harmless: what they would change does not exist, or is only checked.
"""

from typing import Any, Final

from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.schema import Message
from tests.support.plain_message import from_plain

TOPIC: Final = "versions"
_PARTITIONS: Final = [{"topic": TOPIC, "partitions": [0]}]
_ACL: Final = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_LOG_LEVEL: Final = {"name": "root", "config_operation": 0, "value": "WARN"}

ADMIN_REQUESTS: Final[dict[ApiKey, dict[str, Any]]] = {
    ApiKey.CREATE_TOPICS: {
        "topics": [{"name": "checked", "num_partitions": 1, "replication_factor": 1}],
        "validate_only": True,
    },
    ApiKey.DELETE_TOPICS: {
        "topics": [{"name": "absent"}],
        "topic_names": ["absent"],
        "timeout_ms": 5_000,
    },
    ApiKey.DELETE_RECORDS: {
        "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}],
        "timeout_ms": 5_000,
    },
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {
        "replica_id": -1,
        "topics": [{"topic": TOPIC, "partitions": [{"partition": 0, "leader_epoch": 0}]}],
    },
    ApiKey.DESCRIBE_ACLS: _ACL,
    ApiKey.CREATE_ACLS: {
        "creations": [
            {
                "resource_type": 2,
                "resource_name": TOPIC,
                "resource_pattern_type": 3,
                "principal": "User:alice",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ]
    },
    ApiKey.DELETE_ACLS: {"filters": [_ACL]},
    ApiKey.DESCRIBE_CONFIGS: {
        "resources": [
            {"resource_type": 2, "resource_name": TOPIC, "configuration_keys": None},
            {"resource_type": 4, "resource_name": "1", "configuration_keys": None},
            {"resource_type": 8, "resource_name": "1", "configuration_keys": None},
        ],
        "include_synonyms": True,
        "include_documentation": True,
    },
    ApiKey.ALTER_CONFIGS: {
        "resources": [
            {
                "resource_type": 2,
                "resource_name": TOPIC,
                "configs": [{"name": "retention.ms", "value": "1"}],
            }
        ],
        "validate_only": True,
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        "resources": [
            {"resource_type": 8, "resource_name": "1", "configs": [_LOG_LEVEL]},
            {"resource_type": 2, "resource_name": TOPIC, "configs": []},
        ],
        "validate_only": True,
    },
    ApiKey.ALTER_REPLICA_LOG_DIRS: {
        "dirs": [{"path": "/absent", "topics": [{"name": TOPIC, "partitions": [0]}]}]
    },
    ApiKey.DESCRIBE_LOG_DIRS: {"topics": _PARTITIONS},
    ApiKey.CREATE_PARTITIONS: {
        "topics": [{"name": TOPIC, "count": 2, "assignments": None}],
        "timeout_ms": 5_000,
        "validate_only": True,
    },
    ApiKey.ELECT_LEADERS: {"topic_partitions": _PARTITIONS, "timeout_ms": 5_000},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {
        "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": None}]}]
    },
    ApiKey.LIST_PARTITION_REASSIGNMENTS: {"topics": None},
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {
        "components": [{"entity_type": "user", "match_type": 1, "match": None}]
    },
    ApiKey.ALTER_CLIENT_QUOTAS: {
        "entries": [
            {
                "entity": [{"entity_type": "user", "entity_name": "alice"}],
                "ops": [{"key": "producer_byte_rate", "value": 1000.0}],
            }
        ],
        "validate_only": True,
    },
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {"users": [{"name": "alice"}]},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {"deletions": [{"name": "alice", "mechanism": 1}]},
    ApiKey.DESCRIBE_QUORUM: {
        "topics": [
            {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]},
        ]
    },
    ApiKey.UPDATE_FEATURES: {
        "feature_updates": [{"feature": "absent", "max_version_level": 1}],
        "validate_only": True,
    },
    ApiKey.DESCRIBE_CLUSTER: {"include_cluster_authorized_operations": True},
    ApiKey.DESCRIBE_PRODUCERS: {"topics": [{"name": TOPIC, "partition_indexes": [0]}]},
    ApiKey.UNREGISTER_BROKER: {"broker_id": 99},
    ApiKey.LIST_CONFIG_RESOURCES: {"resource_types": []},
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {"topics": [{"name": TOPIC}]},
    ApiKey.ADD_RAFT_VOTER: {
        "cluster_id": None,
        "timeout_ms": 1_000,
        "voter_id": 1,
        "voter_directory_id": b"d" * 16,
        "listeners": [{"name": "CONTROLLER", "host": "localhost", "port": 9093}],
    },
    ApiKey.REMOVE_RAFT_VOTER: {
        "cluster_id": None,
        "voter_id": 99,
        "voter_directory_id": b"d" * 16,
    },
}


def admin_request(key: ApiKey, version: int) -> Message:
    return from_plain(API_BY_KEY[key].request, ADMIN_REQUESTS[key], version)
