"""DescribeCluster as a controller answers it."""

import pytest

from barnabas_controller.managers.cluster_description import (
    BROKERS,
    CONTROLLERS,
    Answerer,
    describe_cluster,
)
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.register_controller_record import (
    ControllerEndpoint,
    RegisterControllerRecord,
)
from tests.support.controller_lab import ControllerLab

HERE = Answerer("cluster", "CONTROLLER", 3001)


def _lab(**options: int) -> ControllerLab:
    lab = ControllerLab(**options)  # type: ignore[arg-type]
    for controller_id in (3002, 3001):
        at = [
            ControllerEndpoint(name="OTHER", host=f"other{controller_id}", port=1),
            ControllerEndpoint(name="CONTROLLER", host=f"c{controller_id}", port=9093),
        ]
        lab.apply([RegisterControllerRecord(controller_id=controller_id, end_points=at)])
    return lab


def _describe(
    lab: ControllerLab,
    *,
    endpoint_type: int = CONTROLLERS,
    version: int = 2,
    answerer: Answerer = HERE,
    operations: bool = False,
) -> DescribeClusterResponse:
    request = DescribeClusterRequest(
        endpoint_type=endpoint_type, include_cluster_authorized_operations=operations
    )
    response = describe_cluster(lab.image, request, version, answerer)
    return decode(DescribeClusterResponse, version, encode(response, version))


def _nodes(response: DescribeClusterResponse) -> list[tuple[int, str, int]]:
    return [(one.broker_id, one.host, one.port) for one in response.brokers]


def test_controllers_are_named_by_the_listener_that_was_asked() -> None:
    response = _describe(_lab())

    assert response.error_code == ErrorCode.NONE
    assert (response.cluster_id, response.controller_id) == ("cluster", 3001)
    assert response.endpoint_type == CONTROLLERS
    assert _nodes(response) == [(3001, "c3001", 9093), (3002, "c3002", 9093)]


def test_a_voter_that_has_not_registered_is_named_by_its_voter_endpoint() -> None:
    voters = {3001: ("elsewhere", 1), 3003: ("v3003", 9093)}

    response = _describe(_lab(), answerer=Answerer("cluster", "CONTROLLER", 3003, voters))

    assert _nodes(response) == [
        (3001, "c3001", 9093),
        (3002, "c3002", 9093),
        (3003, "v3003", 9093),
    ]
    assert response.controller_id == 3003


@pytest.mark.parametrize("active", [None, 3009])
def test_an_active_controller_that_is_not_listed_is_not_named(active: int | None) -> None:
    response = _describe(_lab(), answerer=Answerer("cluster", "CONTROLLER", active))

    assert response.controller_id == -1


@pytest.mark.parametrize(
    ("endpoint_type", "version", "code"),
    [
        (BROKERS, 2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (BROKERS, 1, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (BROKERS, 0, ErrorCode.INVALID_REQUEST),
        (CONTROLLERS, 0, ErrorCode.INVALID_REQUEST),
        (3, 1, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_who_asks_for_brokers_is_in_the_wrong_place(
    endpoint_type: int, version: int, code: ErrorCode
) -> None:
    response = _describe(_lab(), endpoint_type=endpoint_type, version=version)

    assert response.error_code == code
    assert response.brokers == []


def test_controllers_are_not_known_before_3_7() -> None:
    lab = ControllerLab(metadata_level=14)

    assert _describe(lab).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("asked", "shown"), [(True, 264), (False, -(2**31))])
def test_authorized_operations_are_told_to_who_asks(asked: bool, shown: int) -> None:
    answerer = Answerer("cluster", "CONTROLLER", 3001, {}, 264)

    response = _describe(_lab(), answerer=answerer, operations=asked)

    assert response.cluster_authorized_operations == shown
