"""What clients are told while their shard is loaded at a coordinator."""

import pytest

from barnabas_broker.shards.coordinator_errors import coordinator_error
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
GONE = ErrorCode.COORDINATOR_NOT_AVAILABLE


def told(key: ApiKey, error: ErrorCode) -> ErrorCode:
    info = API_BY_KEY[key]
    answer = coordinator_error(key, info.max_version, info.request(), error)
    return ErrorCode(answer.error_code)  # type: ignore[attr-defined]  # each of these has one


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (ApiKey.JOIN_GROUP, LOADING),
        (ApiKey.LEAVE_GROUP, LOADING),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, LOADING),
        (ApiKey.HEARTBEAT, ErrorCode.NONE),
        (ApiKey.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS),
    ],
)
def test_loading_is_told_so_that_clients_try_again_in_place(
    key: ApiKey, expected: ErrorCode
) -> None:
    assert told(key, LOADING) is expected


@pytest.mark.parametrize("key", [ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP])
def test_a_coordinator_that_is_gone_is_told_as_it_is(key: ApiKey) -> None:
    assert told(key, GONE) is GONE
