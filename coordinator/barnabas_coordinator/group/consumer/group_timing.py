"""How long things take in a group: its own configs, then the coordinator's properties.

Bounds that were set after a group's config hold for it too.
"""

from barnabas_coordinator.group.consumer.member import Member
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Env
from barnabas_core.metadata.keyed_image import GROUP_RESOURCE, ConfigResource


def session_timeout_ms(state: GroupState, group_id: str, env: Env) -> int:
    settings = state.settings
    wanted = _config(group_id, "consumer.session.timeout.ms", env)
    if wanted is None:
        return settings.consumer_session_timeout_ms
    low, high = settings.consumer_min_session_timeout_ms, settings.consumer_max_session_timeout_ms
    return max(low, min(wanted, high))


def member_session_timeout_ms(state: GroupState, group_id: str, member: Member, env: Env) -> int:
    """Members that speak the classic protocol bring their own."""
    if member.classic is not None:
        return member.classic.session_timeout_ms
    return session_timeout_ms(state, group_id, env)


def heartbeat_interval_ms(state: GroupState, group_id: str, env: Env) -> int:
    settings = state.settings
    wanted = _config(group_id, "consumer.heartbeat.interval.ms", env)
    if wanted is None:
        return settings.consumer_heartbeat_interval_ms
    low = settings.consumer_min_heartbeat_interval_ms
    return max(low, min(wanted, settings.consumer_max_heartbeat_interval_ms))


def assignment_interval_ms(state: GroupState, group_id: str, env: Env) -> int:
    wanted = _config(group_id, "consumer.assignment.interval.ms", env)
    return state.settings.consumer_assignment_interval_ms if wanted is None else wanted


def _config(group_id: str, name: str, env: Env) -> int | None:
    value = env.image.configs.get(ConfigResource(GROUP_RESOURCE, group_id), {}).get(name)
    return None if value is None else int(value)
