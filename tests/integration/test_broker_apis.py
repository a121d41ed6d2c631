"""What a broker announces is what the table of tested APIs has, or the table is behind."""

from barnabas import EmbeddedCluster
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from tests.support.api_tests import BROKER, TABLE, served_apis
from tests.support.raw_client import RawClient


def test_every_api_that_a_broker_announces_is_in_the_table() -> None:
    with EmbeddedCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            answer = client.ask(ApiVersionsRequest("tests", "1.0"), 4, ApiVersionsResponse)
    announced = [ApiKey(one.api_key) for one in answer.api_keys]

    assert len(announced) == len(set(announced))
    missing = [key.name for key in announced if key not in served_apis(BROKER)]
    assert missing == [], f"{TABLE.name} names no tests for them"


def test_a_broker_shows_the_kraft_version_of_its_quorum() -> None:
    with EmbeddedCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            answer = client.ask(ApiVersionsRequest("tests", "1.0"), 4, ApiVersionsResponse)
    finalized = {one.name: one.max_version_level for one in answer.finalized_features}

    assert finalized["kraft.version"] == 1
