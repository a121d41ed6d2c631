"""On what terms somebody asks to join."""

from barnabas_coordinator.group.classic.member import Protocols
from barnabas_coordinator.shard.decision import Request
from barnabas_core.wire.messages.join_group_request import JoinGroupRequest


def rebalance_timeout_ms(request: Request, asked: JoinGroupRequest) -> int:
    """v0 does not say: its session timeout."""
    is_told = request.context.api_version >= 1
    return asked.rebalance_timeout_ms if is_told else asked.session_timeout_ms


def protocols_of(asked: JoinGroupRequest) -> Protocols:
    return tuple((one.name, bytes(one.metadata)) for one in asked.protocols)
