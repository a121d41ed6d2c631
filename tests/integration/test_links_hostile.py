"""Whatever comes to the port of the links costs its own stream, and nothing else."""

import asyncio
import os
import random
import socket

import grpc.aio  # type: ignore[import-untyped]
import pytest

from barnabas_core.links.frame import encode_frame
from barnabas_core.links.item import Answer, CallItem, Frame, Hello, Item, Push
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.ports.link import Address, Call, Identity
from tests.support.link_lab import Lab, Servant, echo, in_lab, until

HELLO = Hello(Identity("cluster", 9, "broker"))


async def say(address: Address, *messages: bytes) -> list[bytes]:
    """Raw messages on a stream of one's own; what comes back until it ends."""
    async with grpc.aio.insecure_channel(str(address)) as channel:
        stream = channel.stream_stream("/barnabas.Link/forward")()
        heard = []
        try:
            for message in messages:
                await stream.write(message)
            while (message := await stream.read()) is not grpc.aio.EOF:
                heard.append(message)
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass
        return heard


def frame(*items: Item, received: int = 0, handled: int = 0) -> bytes:
    return encode_frame(Frame(received, handled, items))


@pytest.mark.parametrize(
    "messages",
    [
        [b""],
        [b"\xff" * 100],
        [b"\x00\x00\x00\x00junk"],
        [frame(Answer(1, b""))],
        [frame(HELLO, HELLO)],
        [frame(HELLO), frame(HELLO)],
        [frame(HELLO), frame(received=5)],
        [frame(HELLO), frame(handled=5)],
        [frame(HELLO, Answer(1, b"nobody asked"))],
        [frame(HELLO, Push(1, b"not your turn"))],
        [frame(HELLO, CallItem(1, Call(0, 0, b"")), Push(1, b"now?"))],
    ],
)
def test_a_stream_that_breaks_the_protocol_ends_alone(messages: list[bytes]) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        server = await lab.serve(servant)
        link = lab.open(server.address)
        await link.call(echo(), 5_000)

        await say(server.address, *messages)

        assert bytes(await link.call(echo(b"unharmed"), 5_000)) == b"unharmed"
        assert all(node_id == 9 for node_id, _ in servant.losses)

    in_lab("grpc", scenario)


def test_what_was_wrong_is_said_in_the_log() -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant())

        await say(server.address, b"\xff" * 100)

        assert "broke the protocol" in lab.lines.getvalue()
        assert "a head of 4294967295 bytes" in lab.lines.getvalue()

    in_lab("grpc", scenario)


def test_random_bytes_on_many_streams_harm_nobody() -> None:
    seed = int.from_bytes(os.urandom(4))
    print(f"seed: {seed}")
    rng = random.Random(seed)

    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant())
        link = lab.open(server.address)
        whole = bytearray(frame(HELLO, CallItem(1, Call(0, 0, bytes(50)))))

        for _ in range(50):
            damaged = bytearray(whole)
            for _ in range(rng.randrange(1, 5)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            with_deadline = say(server.address, bytes(damaged), rng.randbytes(rng.randrange(100)))
            await asyncio.wait_for(with_deadline, 30)

        assert bytes(await link.call(echo(b"unharmed"), 5_000)) == b"unharmed"

    in_lab("grpc", scenario)


def test_a_message_beyond_the_limit_ends_its_stream() -> None:
    async def scenario(lab: Lab) -> None:
        links = lab.links(1, config=LinkConfig(item_bytes_max=1_000))
        server = await lab.serve(Servant(), links=links)
        link = lab.open(server.address)
        await link.call(echo(), 5_000)

        await say(server.address, bytes(8 * 1024 * 1024))

        assert bytes(await link.call(echo(b"unharmed"), 5_000)) == b"unharmed"

    in_lab("grpc", scenario)


def test_a_caller_that_takes_no_answers_is_cut_off() -> None:
    """It calls on without acknowledging anything: the answers, then the refusals, pile up."""

    async def scenario(lab: Lab) -> None:
        links = lab.links(1, config=LinkConfig(waiting_bytes_max=50_000))
        servant = Servant()
        server = await lab.serve(servant, links=links)
        calls = [CallItem(number, Call(0, 0, bytes(1_000))) for number in range(100)]

        await asyncio.wait_for(
            say(server.address, frame(HELLO), *(frame(*calls) for _ in range(50))), 30
        )

        assert servant.losses == [(9, servant.losses[0][1])]

    in_lab("grpc", scenario)


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 1000, b"\x16\x03\x01\x02\x00", b""]
)
def test_what_is_no_grpc_at_all_ends_its_connection(data: bytes) -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant())
        link = lab.open(server.address)
        await link.call(echo(), 5_000)

        with socket.create_connection(server.address) as connection:
            connection.sendall(data)
            assert bytes(await link.call(echo(b"unharmed"), 5_000)) == b"unharmed"
        await until(lambda: link.is_connected)

    in_lab("grpc", scenario)
