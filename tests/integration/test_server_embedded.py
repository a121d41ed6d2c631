"""`EmbeddedCluster`: a cluster inside somebody else's process."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from barnabas import AsyncCluster, ClusterError, EmbeddedCluster
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from tests.support.raw_client import RawClient


def address_of(cluster: EmbeddedCluster | AsyncCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    return host, int(port)


def cluster_threads() -> int:
    """Another test's cluster may live as long as the session does."""
    return [thread.name for thread in threading.enumerate()].count("barnabas")


def test_it_serves_from_a_thread_of_its_own() -> None:
    before = cluster_threads()
    with EmbeddedCluster() as cluster, RawClient(address_of(cluster)) as client:
        assert client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse).error_code == 0
        assert cluster.data is not None
        data = Path(cluster.data)
        assert data.exists()
        assert cluster_threads() == before + 1

    assert not data.exists()
    assert cluster_threads() == before


def test_it_serves_on_the_running_loop() -> None:
    async def scenario() -> int:
        async with EmbeddedCluster() as cluster:
            return await asyncio.to_thread(ask, address_of(cluster))

    def ask(address: tuple[str, int]) -> int:
        with RawClient(address) as client:
            return client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse).error_code

    assert asyncio.run(scenario()) == 0


def test_several_clusters_live_side_by_side() -> None:
    def topics(client: RawClient) -> list[str | None]:
        return [it.name for it in client.ask(MetadataRequest(None), 12, MetadataResponse).topics]

    with (
        EmbeddedCluster() as one,
        EmbeddedCluster() as two,
        RawClient(address_of(one)) as first,
        RawClient(address_of(two)) as second,
    ):
        creating = MetadataRequest([MetadataRequestTopic(name="only-in-one")])
        first.ask(creating, 12, MetadataResponse)

        assert topics(first) == ["only-in-one"]
        assert topics(second) == []


def test_what_is_advertised_is_where_it_listens() -> None:
    with EmbeddedCluster(host="0.0.0.0") as cluster, RawClient(address_of(cluster)) as client:  # noqa: S104
        (node,) = client.ask(MetadataRequest([]), 12, MetadataResponse).brokers
        bootstrap_servers = cluster.bootstrap_servers

    assert f"{node.host}:{node.port}" == bootstrap_servers
    assert node.host == "127.0.0.1"


def test_a_cluster_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    before = threading.active_count()

    with pytest.raises(ClusterError, match="cannot use the data directory"):
        EmbeddedCluster(data=str(file)).__enter__()

    assert threading.active_count() == before


def test_the_address_is_known_only_while_it_runs() -> None:
    cluster = EmbeddedCluster()
    with pytest.raises(ClusterError, match="not running"):
        _ = cluster.bootstrap_servers
    with cluster, pytest.raises(ClusterError, match="running already"):
        cluster.start()


def test_neither_grpc_nor_protobuf_nor_the_log_renderer_is_loaded() -> None:
    program = """
import json, sys
from barnabas import EmbeddedCluster
sys.path.insert(0, ".")
from tests.support.raw_client import RawClient
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
with EmbeddedCluster() as cluster:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    with RawClient((host, int(port))) as client:
        request = MetadataRequest([MetadataRequestTopic(name="t")])
        assert client.ask(request, 12, MetadataResponse).topics[0].error_code == 0
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    loaded = set(json.loads(done.stdout))
    assert not loaded & {"grpc", "google", "structlog", "prometheus_client", "multiprocessing"}
