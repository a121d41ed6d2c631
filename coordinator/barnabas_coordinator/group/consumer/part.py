"""The functions of this part, by what they are for."""

from typing import Final

from barnabas_coordinator.group.consumer import classic_requests, replay
from barnabas_coordinator.group.consumer.describe import describe
from barnabas_coordinator.group.consumer.heartbeat import heartbeat
from barnabas_coordinator.group.consumer.heartbeat_answer import (
    JOIN_DEADLINE,
    PARK_DEADLINE,
    REBALANCE_DEADLINE,
    SESSION_DEADLINE,
    SYNC_DEADLINE,
    on_park_deadline,
)
from barnabas_coordinator.group.consumer.leaving import (
    on_rebalance_deadline,
    on_session_deadline,
)
from barnabas_coordinator.group.consumer.metadata_watch import arm_members, on_image, on_loaded
from barnabas_coordinator.group.consumer.regex_refresh import (
    REGEX_DEADLINE,
    on_regex_deadline,
    on_resolved,
)
from barnabas_coordinator.group.consumer.target_assignment import (
    ASSIGN_DEADLINE,
    on_assign_deadline,
    on_assigned,
)
from barnabas_coordinator.group.group_state import Part
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from barnabas_core.wire.messages.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas_core.wire.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_regular_expression_key import (
    ConsumerGroupRegularExpressionKey,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)

CONSUMER: Final = Part(
    handlers={
        ApiKey.CONSUMER_GROUP_HEARTBEAT: heartbeat,
        ApiKey.CONSUMER_GROUP_DESCRIBE: describe,
    },
    classic_handlers={
        ApiKey.JOIN_GROUP: classic_requests.join,
        ApiKey.SYNC_GROUP: classic_requests.sync,
        ApiKey.HEARTBEAT: classic_requests.heartbeat,
        ApiKey.LEAVE_GROUP: classic_requests.leave,
    },
    replayers={
        ConsumerGroupMetadataKey: replay.replay_metadata,
        ConsumerGroupPartitionMetadataKey: replay.replay_partition_metadata,
        ConsumerGroupMemberMetadataKey: replay.replay_member,
        ConsumerGroupTargetAssignmentMetadataKey: replay.replay_target_metadata,
        ConsumerGroupTargetAssignmentMemberKey: replay.replay_target,
        ConsumerGroupCurrentMemberAssignmentKey: replay.replay_current,
        ConsumerGroupRegularExpressionKey: replay.replay_regex,
    },
    on_deadline={
        SESSION_DEADLINE: on_session_deadline,
        REBALANCE_DEADLINE: on_rebalance_deadline,
        ASSIGN_DEADLINE: on_assign_deadline,
        REGEX_DEADLINE: on_regex_deadline,
        PARK_DEADLINE: on_park_deadline,
        JOIN_DEADLINE: classic_requests.on_classic_deadline,
        SYNC_DEADLINE: classic_requests.on_classic_deadline,
    },
    on_loaded=on_loaded,
    arm_members=arm_members,
    on_image=on_image,
    on_done={"assign": on_assigned, "regex": on_resolved},
)
