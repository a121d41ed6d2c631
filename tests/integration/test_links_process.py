"""Processes that are killed or stopped: an end that closes is told from one that falls silent."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.ports.link import Address, LinkBroken, Loss, NotSent
from tests.support.link_lab import Lab, Servant, Witness, echo, in_lab, until, wait
from tests.support.process import Child, running

PING_OFTEN = LinkConfig(tick_ms=100)


@contextmanager
def other_end(directory: Path, role: str, port: int) -> Iterator[Child]:
    command = [sys.executable, "-m", "tests.support.link_process", role, str(port)]
    with running(command, directory / f"{role}.out") as child:
        yield child


def test_a_server_that_is_killed_closes_its_streams_and_comes_back(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        with ExitStack() as stack:
            child = stack.enter_context(other_end(tmp_path, "serve", 0))
            port = int(child.wait_for_line("serving: "))
            witness = Witness()
            link = lab.open(Address("127.0.0.1", port), witness.events())
            await link.call(echo(), 30_000)
            call = asyncio.create_task(link.call(wait(), 50_000))
            await asyncio.sleep(0.1)

            child.kill()

            with pytest.raises(LinkBroken):
                await call
            assert witness.losses == [Loss.CLOSED]
            again = stack.enter_context(other_end(tmp_path, "serve", port))
            again.wait_for_line("serving: ")
            await until(lambda: link.is_connected)
            assert bytes(await link.call(echo(b"back"), 30_000)) == b"back"

    in_lab("grpc", scenario)


def test_a_server_that_is_stopped_is_silent_until_it_goes_on(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        with other_end(tmp_path, "serve", 0) as child:
            port = int(child.wait_for_line("serving: "))
            witness = Witness()
            here = lab.links(2, config=PING_OFTEN)
            link = lab.open(Address("127.0.0.1", port), witness.events(), links=here)
            await link.call(echo(), 30_000)

            child.process.send_signal(signal.SIGSTOP)

            with pytest.raises(LinkBroken, match="nothing was heard"):
                await link.call(echo(), 50_000)
            assert witness.losses == [Loss.SILENT]
            # It is not even reached any more, though its port still takes connections.
            with pytest.raises(NotSent):
                await link.call(echo(), 50_000)
            child.process.send_signal(signal.SIGCONT)
            await until(lambda: link.is_connected)
            assert bytes(await link.call(echo(b"on"), 30_000)) == b"on"

    in_lab("grpc", scenario)


@pytest.mark.parametrize(
    ("stop", "loss"), [(signal.SIGKILL, Loss.CLOSED), (signal.SIGSTOP, Loss.SILENT)]
)
def test_a_service_is_told_how_it_lost_a_caller(
    tmp_path: Path, stop: signal.Signals, loss: Loss
) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, config=PING_OFTEN))
        with other_end(tmp_path, "call", server.address.port) as child:
            await asyncio.to_thread(child.wait_for_line, "connected: ")

            child.process.send_signal(stop)

            await until(lambda: bool(servant.losses))
            assert servant.losses == [(3, loss)]

    in_lab("grpc", scenario)
