"""What a ConsumerGroupHeartbeat must be to be looked at, whatever the group."""

from collections.abc import Iterable

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    Member,
    MemberState,
    Partitions,
    is_within,
)
from barnabas_coordinator.group.consumer.topic_regex import is_valid
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)

SWITCHED_OFF = "The consumer protocol is switched off (group.coordinator.rebalance.protocols)."
OWN_MEMBER_ID_VERSION = 1
"""From here on clients make up their member ids (KIP-1082)."""


class Refused(Exception):
    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_request(
    message: ConsumerGroupHeartbeatRequest, version: int, settings: GroupSettings
) -> None:
    """`Refused` if it can be right for no group."""
    if not settings.has_consumer_groups:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, SWITCHED_OFF)
    _check(message.group_id != "", "GroupId can't be empty.")
    _check(message.instance_id != "", "InstanceId can't be empty.")
    _check(message.rack_id != "", "RackId can't be empty.")
    epoch = message.member_epoch
    _check(epoch >= STATIC_LEAVE_EPOCH, "MemberEpoch is invalid.")
    if version >= OWN_MEMBER_ID_VERSION or epoch != JOIN_EPOCH:
        _check(message.member_id != "", "MemberId can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(message)
    elif epoch == STATIC_LEAVE_EPOCH:
        _check(message.instance_id is not None, "InstanceId can't be null.")
    assignors = settings.consumer_assignors
    if message.server_assignor is not None and message.server_assignor not in assignors:
        supported = ", ".join(assignors)
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {message.server_assignor} is not supported. "
            f"Supported assignors: {supported}.",
        )
    if epoch not in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        _check_regex(message.subscribed_topic_regex)
        names = message.subscribed_topic_names or ()
        texts = (*names, message.subscribed_topic_regex, message.instance_id, message.rack_id)
        check_fits(settings, texts)


def _check_join(message: ConsumerGroupHeartbeatRequest) -> None:
    _check(
        message.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request."
    )
    _check(
        message.topic_partitions is not None and not message.topic_partitions,
        "TopicPartitions must be empty when (re-)joining.",
    )
    # Either may be empty: a member that is subscribed to nothing is a member all the same.
    _check(
        message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _check_regex(regex: str | None) -> None:
    if regex and not is_valid(regex):
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression.",
        )


def check_fits(settings: GroupSettings, texts: Iterable[str | bytes | None]) -> None:
    """What a member says of itself is written as one record. The log refuses what is too large, and
    all groups of the shard would pay for that."""
    size = sum(len(one.encode() if isinstance(one, str) else one) + 4 for one in texts if one)
    _check(size <= settings.batch_bytes_max // 2, "The subscription is too large.")


def check_size(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    if len(group.members) >= max_size and member_id not in group.members:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def check_epoch(member: Member, epoch: int, owned: Partitions | None) -> None:
    """The epoch before is good as well, as long as the member has nothing but its own: the answer
    that told it the new one may have been lost."""
    if epoch > member.epoch:
        raise _fenced(f"a greater member epoch ({epoch})", member)
    if epoch < member.epoch and (
        epoch != member.previous_epoch or owned is None or not is_within(owned, member.assigned)
    ):
        raise _fenced(f"a smaller member epoch ({epoch})", member)
    if member.state is MemberState.UNKNOWN and (owned is None or owned):
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. "
            "The member must abandon all its partitions and rejoin.",
        )


def _fenced(what: str, member: Member) -> Refused:
    return Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has {what} than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _check(is_right: bool, message: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not is_right:
        raise Refused(ErrorCode.INVALID_REQUEST, message)
