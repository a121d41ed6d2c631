"""`barnabas up` as a user meets it: banner, complaints, a clean end."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from tests.support.barnabas_process import PROGRAM, running_barnabas
from tests.support.raw_client import RawClient


def address_of(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def complain(*arguments: str) -> tuple[int, str]:
    """Exit status and standard error of a command that must fail by itself."""
    done = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


def test_the_banner_tells_the_address_and_lines_to_copy(tmp_path: Path) -> None:
    with running_barnabas(tmp_path, "--ephemeral") as (child, bootstrap):
        child.wait_for_line("Ctrl-C")
        with RawClient(address_of(bootstrap)) as client:
            answer = client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse)

        assert answer.error_code == 0
        banner = child.output()
        assert f"kcat -b {bootstrap}" in banner
        assert f"'bootstrap.servers': '{bootstrap}'" in banner
        assert "gone at the end" in banner


def test_an_idle_cluster_is_small(tmp_path: Path) -> None:
    with running_barnabas(tmp_path, "--ephemeral") as (child, bootstrap):
        with RawClient(address_of(bootstrap)) as client:
            client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse)
        status = Path(f"/proc/{child.process.pid}/status").read_text()

    assert int(status.partition("VmRSS:")[2].split()[0]) < 75 * 1024


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_it_is_asked_to(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "data"
    with running_barnabas(tmp_path, "--data", str(data)) as (child, _):
        child.process.send_signal(number)

        assert child.process.wait(60) == 0
        assert (data / "node-1" / ".kafka_cleanshutdown").exists()
        assert "Traceback" not in child.output()


def test_ephemeral_data_is_gone_at_the_end(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    previous = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(temporary)
    try:
        with running_barnabas(tmp_path) as (child, _):
            assert len(list(temporary.iterdir())) == 1
            assert child.stop() == 0
    finally:
        del os.environ["TMPDIR"]
        if previous is not None:
            os.environ["TMPDIR"] = previous

    assert list(temporary.iterdir()) == []


def test_a_port_in_use_is_one_clear_line() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        status, complaint = complain("up", "--port", str(port))

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in complaint
    assert "in use" in complaint


def test_a_data_directory_of_another_process_is_one_clear_line(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running_barnabas(tmp_path, "--data", data):
        status, complaint = complain("up", "--port", "0", "--data", data)

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert "locked by another process" in complaint


def test_a_data_directory_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory")

    status, complaint = complain("up", "--port", "0", "--data", str(file))

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert str(file) in complaint


def test_a_data_directory_that_is_not_writable_is_one_clear_line() -> None:
    # Not even root may make a directory there.
    status, complaint = complain("up", "--port", "0", "--data", "/proc/barnabas")

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert "/proc/barnabas" in complaint


def test_the_data_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    meta = "version=1\ncluster.id=another-cluster\nnode.id=7\n"
    (tmp_path / "node-1").mkdir()
    (tmp_path / "node-1" / "meta.properties").write_text(meta)

    status, complaint = complain("up", "--port", "0", "--data", str(tmp_path))

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert "belongs to node 7" in complaint


def test_a_directory_of_a_single_node_is_not_taken_for_a_clusters(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=a\nnode.id=1\n")

    status, complaint = complain("up", "--port", "0", "--data", str(tmp_path))

    assert status == 1
    assert len(complaint.splitlines()) == 1
    assert "barnabas serve" in complaint


@pytest.mark.parametrize(
    "arguments",
    [
        ("up", "--brokers", "0"),
        ("up", "--port", "70000"),
        ("up", "--data", "x", "--ephemeral"),
        (),
        ("down",),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(arguments: tuple[str, ...]) -> None:
    status, complaint = complain(*arguments)

    assert status == 2
    assert complaint.startswith(("usage:", "barnabas:"))


def test_help_does_not_load_a_broker() -> None:
    program = (
        "import sys, barnabas.cli\n"
        "try: barnabas.cli.main(['up', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not [name for name in sys.modules if name.startswith('barnabas_')]"
    )

    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)
