"""Older Java clients against `barnabas up`: each speaks the versions of its time."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.barnabas_process import running_barnabas
from tests.support.external import JavaRuntime, obtain
from tests.support.java_source import java_command
from tools.fetch import KAFKA_VERSION, OLD_CLIENT_VERSIONS, fetch_client

COUNT = 2_000
# What a client logs and compresses with; the newest of each does for all of them.
LIBRARIES = ("slf4j-api", "slf4j-simple", "lz4-java", "snappy-java", "zstd-jni")


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_barnabas(tmp_path_factory.mktemp("cluster")) as (child, address):
        yield address
        assert child.process.poll() is None, f"the server ended:\n{child.output()}"


def class_path(java: JavaRuntime, classes: Path, client: Path) -> list[Path]:
    libraries = [jar for name in LIBRARIES for jar in java.jars.glob(f"{name}-*.jar")]
    return [classes, client, *libraries]


def expected() -> list[str]:
    return [f"{n}\tkey {n}\tvalue {n}\theader {n}" for n in range(COUNT)]


# Idempotent, as the newest are by default; the codecs are those of their time (zstd came with 2.1).
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("version", [*OLD_CLIENT_VERSIONS, KAFKA_VERSION])
def test_a_java_client_reads_what_it_wrote(
    request: pytest.FixtureRequest,
    java: JavaRuntime,
    java_classes: Path,
    bootstrap: str,
    version: str,
    codec: str,
) -> None:
    client = java.jars / f"kafka-clients-{version}.jar"
    if version != KAFKA_VERSION:
        client = obtain(request, lambda: fetch_client(version))
    command = java_command(java, class_path(java, java_classes, client), "RoundTrip")
    topic = f"by-{version}-{codec}"
    settings = (f"compression.type={codec}", "enable.idempotence=true", "linger.ms=5")

    done = subprocess.run(
        [*command, bootstrap, topic, str(COUNT), *settings],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == f"version {version}"
    assert said[1:-1] == expected()
    assert said[-1] == f"end {COUNT}"


def test_a_new_client_reads_what_the_oldest_wrote(
    request: pytest.FixtureRequest, java: JavaRuntime, java_classes: Path, bootstrap: str
) -> None:
    from tests.support.librdkafka import read

    oldest = OLD_CLIENT_VERSIONS[0]
    client = obtain(request, lambda: fetch_client(oldest))
    command = java_command(java, class_path(java, java_classes, client), "RoundTrip")
    subprocess.run([*command, bootstrap, "handed-on", "10"], check=True, timeout=120)

    found = read(bootstrap, "handed-on", 10)

    assert [message.value() for message in found] == [b"value %d" % n for n in range(10)]
    assert [message.headers() for message in found] == [
        [("h", b"header %d" % n)] for n in range(10)
    ]
