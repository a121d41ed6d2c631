"""The functions of this part, by what they are for."""

from typing import Final

from barnabas_coordinator.group.classic.arming import arm_members
from barnabas_coordinator.group.classic.group import SESSION
from barnabas_coordinator.group.classic.heartbeat import heartbeat
from barnabas_coordinator.group.classic.join import join
from barnabas_coordinator.group.classic.leave import leave
from barnabas_coordinator.group.classic.rebalance import (
    JOIN,
    SYNC,
    on_join_deadline,
    on_session_deadline,
    on_sync_deadline,
)
from barnabas_coordinator.group.classic.replay import on_loaded, replay_group
from barnabas_coordinator.group.classic.sync import sync
from barnabas_coordinator.group.group_state import Part
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey

CLASSIC: Final = Part(
    handlers={
        ApiKey.JOIN_GROUP: join,
        ApiKey.SYNC_GROUP: sync,
        ApiKey.HEARTBEAT: heartbeat,
        ApiKey.LEAVE_GROUP: leave,
    },
    replayers={GroupMetadataKey: replay_group},
    on_deadline={
        SESSION: on_session_deadline,
        JOIN: on_join_deadline,
        SYNC: on_sync_deadline,
    },
    on_loaded=on_loaded,
    arm_members=arm_members,
    # A lost call changes nothing: who asked has joined, and may come back (see `ClassicMember`).
)
