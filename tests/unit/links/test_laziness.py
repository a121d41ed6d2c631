"""What one process needs for itself starts without gRPC; the protocol needs no event loop."""

import subprocess
import sys

import pytest

CHECK = """
import importlib, sys
for name in {modules!r}:
    importlib.import_module("barnabas_core.links." + name)
print(sorted(name for name in {absent!r} if name in sys.modules))
"""


def loaded(modules: list[str], absent: list[str]) -> str:
    script = CHECK.format(modules=modules, absent=absent)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_local_links_import_neither_grpc_nor_protobuf() -> None:
    modules = ["local_links", "controller_client", "metadata_feed", "metadata_feed_service"]

    assert loaded(modules, ["grpc", "google.protobuf"]) == "[]"


@pytest.mark.parametrize("module", ["stream", "item", "frame", "greeting"])
def test_the_protocol_is_pure(module: str) -> None:
    assert loaded([module], ["asyncio", "grpc"]) == "[]"


def test_a_cluster_that_nobody_watches_loads_nothing_to_count_with() -> None:
    script = (
        "import sys, barnabas.async_cluster\n"
        "wanted = ('prometheus_client', 'google.protobuf', 'barnabas_core.runtime.metrics')\n"
        "print(sorted(name for name in wanted if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert done.stdout.decode().strip() == "[]"
