"""DescribeCluster, from the typed request to the typed answer."""

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.handlers.describe_cluster import DescribeClusterHandler
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from tests.support.broker_bench import context
from tests.support.cluster_image import broker, cluster_view

CONTROLLERS = 2


def cluster() -> ClusterView:
    return cluster_view([broker(1, rack="a"), broker(2), broker(3), FenceBrokerRecord(3, 3)])


def ask(request: DescribeClusterRequest, version: int = 2) -> DescribeClusterResponse:
    return DescribeClusterHandler(cluster()).handle(request, context(version))


def test_the_live_brokers_are_listed() -> None:
    answer = ask(DescribeClusterRequest())

    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, "cluster", 1)
    found = [(one.broker_id, one.host, one.rack, one.is_fenced) for one in answer.brokers]
    assert found == [(1, "host", "a", False), (2, "host", None, False)]
    assert answer.cluster_authorized_operations == -(2**31)


def test_fenced_brokers_are_listed_if_asked_for() -> None:
    answer = ask(DescribeClusterRequest(include_fenced_brokers=True))

    found = [(one.broker_id, one.is_fenced) for one in answer.brokers]
    assert found == [(1, False), (2, False), (3, True)]


def test_authorised_operations_are_told_if_asked_for() -> None:
    answer = ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 0)

    assert answer.cluster_authorized_operations == 0b1111110100000


def test_controllers_are_not_here() -> None:
    answer = ask(DescribeClusterRequest(endpoint_type=CONTROLLERS), 1)

    assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert answer.error_message is not None
    assert "BROKER" in answer.error_message


def test_other_endpoints_do_not_exist() -> None:
    answer = ask(DescribeClusterRequest(endpoint_type=7), 1)

    assert answer.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
