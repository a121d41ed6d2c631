"""Pushes on both kinds of links: in order, and no more of them than the receiver has room for."""

import asyncio

import pytest

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.stream import StreamLimits
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import LinkBroken, Loss
from tests.support.link_lab import KINDS, Lab, Servant, Witness, echo, in_lab, until, wait

pytestmark = pytest.mark.parametrize("kind", KINDS)

WINDOW = 100_000
CONFIG = LinkConfig(stream=StreamLimits(push_window_bytes=WINDOW))


def test_pushes_arrive_in_order_with_their_kind(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        arrived: list[tuple[int, bytes]] = []

        async def on_push(push_kind: int, body: Buffer) -> None:
            await asyncio.sleep(0)
            arrived.append((push_kind, bytes(body)))

        servant = Servant()
        link = lab.open((await lab.serve(servant)).address, Witness().events(on_push))
        await link.call(echo(), 5_000)
        pushes = [(number % 3, b"%d" % number) for number in range(500)]

        for push in pushes:
            await servant.callers[0].push(*push)

        await until(lambda: len(arrived) == len(pushes))
        assert arrived == pushes

    in_lab(kind, scenario)


def test_a_slow_receiver_bounds_the_sender_and_delays_no_call(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        gate, arrived = asyncio.Event(), list[bytes]()

        async def on_push(_: int, body: Buffer) -> None:
            await gate.wait()
            arrived.append(bytes(body[:4]))

        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, config=CONFIG))
        here = lab.links(2, config=CONFIG)
        link = lab.open(server.address, Witness().events(on_push), links=here)
        await link.call(echo(), 5_000)
        pushed: list[int] = []

        async def push_all() -> None:
            for number in range(100):
                await servant.callers[0].push(1, b"%04d" % number + bytes(10_000))
                pushed.append(number)

        pusher = asyncio.create_task(push_all())
        await until(lambda: len(pushed) >= 9)
        for _ in range(20):
            assert bytes(await link.call(echo(b"meanwhile"), 5_000)) == b"meanwhile"
        assert len(pushed) <= WINDOW // 10_000

        gate.set()
        await pusher
        await until(lambda: len(arrived) == 100)
        assert arrived == [b"%04d" % number for number in range(100)]

    in_lab(kind, scenario)


def test_pushes_of_several_tasks_go_in_the_order_of_asking(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        gate, arrived = asyncio.Event(), list[int]()

        async def on_push(push_kind: int, _: Buffer) -> None:
            await gate.wait()
            arrived.append(push_kind)

        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, config=CONFIG))
        here = lab.links(2, config=CONFIG)
        link = lab.open(server.address, Witness().events(on_push), links=here)
        await link.call(echo(), 5_000)

        sizes = [40_000 if number % 2 else 10 for number in range(20)]
        tasks = [
            asyncio.create_task(servant.callers[0].push(number, bytes(size)))
            for number, size in enumerate(sizes)
        ]
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(*tasks)

        await until(lambda: len(arrived) == 20)
        assert arrived == list(range(20))

    in_lab(kind, scenario)


def test_a_push_into_a_lost_stream_fails_also_where_it_waits(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        async def on_push(_: int, body: Buffer) -> None:
            await asyncio.Event().wait()

        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, config=CONFIG))
        here = lab.links(2, config=CONFIG)
        link = lab.open(server.address, Witness().events(on_push), links=here)
        await link.call(echo(), 5_000)
        caller = servant.callers[0]
        await caller.push(1, bytes(WINDOW))
        waiting = asyncio.create_task(caller.push(2, bytes(WINDOW)))
        await asyncio.sleep(0.05)
        assert not waiting.done()

        await link.close()

        with pytest.raises(LinkBroken):
            await waiting
        with pytest.raises(LinkBroken):
            await caller.push(3, b"")
        await until(lambda: bool(servant.losses))
        assert servant.losses == [(2, Loss.CLOSED)]

    in_lab(kind, scenario)


def test_nobody_who_does_not_listen_holds_up_the_sender(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        link = lab.open((await lab.serve(servant)).address)
        await link.call(echo(), 5_000)

        for _ in range(20):
            await servant.callers[0].push(1, bytes(500_000))

        assert bytes(await link.call(echo(b"fine"), 5_000)) == b"fine"

    in_lab(kind, scenario)


def test_a_receiver_that_fails_starts_afresh_with_a_new_stream(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        async def on_push(_: int, body: Buffer) -> None:
            raise ZeroDivisionError("a defect")

        servant, witness = Servant(), Witness()
        link = lab.open((await lab.serve(servant)).address, witness.events(on_push))
        await link.call(echo(), 5_000)

        await servant.callers[0].push(1, b"")

        await until(lambda: witness.connected_count == 2)
        assert witness.losses == [Loss.CLOSED]
        assert "ZeroDivisionError" in lab.lines.getvalue()
        slow = asyncio.create_task(link.call(wait(b"calls go on"), 5_000))
        servant.gate.set()
        assert bytes(await slow) == b"calls go on"

    in_lab(kind, scenario)
