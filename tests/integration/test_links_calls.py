"""Links over real gRPC and in process, each behaviour on both: calls, losses, greetings."""

import asyncio

import pytest

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.ports.link import (
    Busy,
    Call,
    CallFailed,
    CallRefused,
    CallTimedOut,
    LinkBroken,
    LinkError,
    LinkFull,
    Loss,
    NotActive,
    NotSent,
    Origin,
    Purpose,
)
from tests.support.link_lab import (
    CRASH,
    KINDS,
    NOT_ACTIVE,
    REFUSE,
    Lab,
    Servant,
    Witness,
    echo,
    in_lab,
    until,
    wait,
)

pytestmark = pytest.mark.parametrize("kind", KINDS)


def test_a_call_arrives_as_it_was_made_and_its_answer_comes_back(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        link = lab.open((await lab.serve(servant)).address)
        origin = Origin("User:ann", "10.0.0.1", "client", "EXTERNAL")

        answer = await link.call(Call(0, 7, b"body", origin), 5_000)

        assert bytes(answer) == b"body"
        (call,) = servant.calls
        assert (call.api_version, bytes(call.body), call.origin) == (7, b"body", origin)
        assert servant.callers[0].identity == lab.links(2).identity
        assert link.is_connected

    in_lab(kind, scenario)


def test_answers_come_in_any_order(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        link = lab.open((await lab.serve(servant)).address)
        slow = asyncio.create_task(link.call(wait(b"slow"), 50_000))
        await until(lambda: len(servant.calls) == 1)

        assert bytes(await link.call(echo(b"quick"), 5_000)) == b"quick"
        assert not slow.done()
        servant.gate.set()
        assert bytes(await slow) == b"slow"

    in_lab(kind, scenario)


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_bodies_of_any_size_pass(kind: str, size: int) -> None:
    async def scenario(lab: Lab) -> None:
        link = lab.open((await lab.serve(Servant())).address)
        body = bytes(size)

        answers = await asyncio.gather(*(link.call(echo(body), 50_000) for _ in range(5)))

        assert all(bytes(answer) == body for answer in answers)

    in_lab(kind, scenario)


def test_many_calls_at_once_are_all_answered(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        link = lab.open((await lab.serve(Servant())).address)
        bodies = [b"%d" % number for number in range(1_000)]

        answers = await asyncio.gather(*(link.call(echo(body), 50_000) for body in bodies))

        assert list(map(bytes, answers)) == bodies

    in_lab(kind, scenario)


def test_a_body_that_changes_after_its_answer_was_given_has_arrived_as_it_was(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        link = lab.open((await lab.serve(servant)).address)
        body = bytearray(b"before")
        await link.call(Call(0, 0, body), 5_000)

        body[:] = b"after!"

        assert bytes(servant.calls[0].body) == b"before"

    in_lab(kind, scenario)


def test_more_calls_than_the_link_holds_are_not_sent(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        links = lab.links(2, config=LinkConfig(call_count_max=3))
        link = lab.open((await lab.serve(servant)).address, links=links)
        calls = [asyncio.create_task(link.call(wait(), 50_000)) for _ in range(3)]
        await until(lambda: len(servant.calls) == 3)

        with pytest.raises(LinkFull):
            await link.call(echo(), 5_000)

        servant.gate.set()
        await asyncio.gather(*calls)
        assert bytes(await link.call(echo(b"again"), 5_000)) == b"again"
        assert len(servant.calls) == 4

    in_lab(kind, scenario)


def test_more_bytes_than_the_link_holds_are_not_sent(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        links = lab.links(2, config=LinkConfig(waiting_bytes_max=1_000))
        link = lab.open((await lab.serve(servant)).address, links=links)
        alone = asyncio.create_task(link.call(wait(bytes(5_000)), 50_000))
        await until(lambda: len(servant.calls) == 1)

        with pytest.raises(LinkFull):
            await link.call(echo(), 5_000)

        servant.gate.set()
        assert len(await alone) == 5_000

    in_lab(kind, scenario)


def test_a_server_with_too_much_to_do_says_so_and_goes_on_reading(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        serving = lab.links(1, config=LinkConfig(call_count_max=2))
        link = lab.open((await lab.serve(servant, links=serving)).address)
        taken = [asyncio.create_task(link.call(wait(), 50_000)) for _ in range(2)]
        await until(lambda: len(servant.calls) == 2)

        for _ in range(10):
            with pytest.raises(Busy):
                await link.call(echo(), 5_000)

        servant.gate.set()
        await asyncio.gather(*taken)
        assert len(servant.calls) == 2

    in_lab(kind, scenario)


def test_a_call_without_an_answer_times_out_and_a_late_answer_harms_nobody(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        link = lab.open((await lab.serve(servant)).address)
        await link.call(echo(), 5_000)

        with pytest.raises(CallTimedOut):
            await link.call(wait(), 20)

        servant.gate.set()
        for number in range(3):
            assert bytes(await link.call(echo(b"%d" % number), 5_000)) == b"%d" % number

    in_lab(kind, scenario)


def test_a_call_that_was_given_up_makes_room_for_another(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        links = lab.links(2, config=LinkConfig(call_count_max=1))
        link = lab.open((await lab.serve(servant)).address, links=links)
        given_up = asyncio.create_task(link.call(wait(), 50_000))
        await until(lambda: len(servant.calls) == 1)

        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)

        assert bytes(await link.call(echo(b"next"), 5_000)) == b"next"

    in_lab(kind, scenario)


def test_refusals_say_why(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        link = lab.open((await lab.serve(Servant())).address)

        with pytest.raises(CallRefused, match="not this one"):
            await link.call(Call(REFUSE, 0, b""), 5_000)
        with pytest.raises(NotActive) as not_active:
            await link.call(Call(NOT_ACTIVE, 0, b""), 5_000)

        assert not_active.value.leader_id == 7
        assert not_active.value.address == ("elsewhere", 9)

    in_lab(kind, scenario)


def test_a_defect_costs_its_own_call_and_is_logged(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        link = lab.open((await lab.serve(Servant())).address)

        with pytest.raises(CallFailed, match="internal error"):
            await link.call(Call(CRASH, 0, b""), 5_000)

        assert bytes(await link.call(echo(b"on"), 5_000)) == b"on"
        assert "ZeroDivisionError" in lab.lines.getvalue()

    in_lab(kind, scenario)


def test_too_large_a_call_or_answer_is_refused_alone(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        serving = lab.links(1, config=LinkConfig(item_bytes_max=1_000))
        server = await lab.serve(Servant(), links=serving)
        here = lab.links(2, config=LinkConfig(item_bytes_max=2_000))
        link = lab.open(server.address, links=here)

        with pytest.raises(CallRefused, match="2001 bytes"):
            await link.call(echo(bytes(2_001)), 5_000)
        with pytest.raises(CallFailed, match="1500 bytes is too large"):
            await link.call(echo(bytes(1_500)), 5_000)
        assert len(await link.call(echo(bytes(900)), 5_000)) == 900

    in_lab(kind, scenario)


def test_a_server_that_ends_breaks_the_calls_under_way(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant, witness = Servant(), Witness()
        server = await lab.serve(servant)
        link = lab.open(server.address, witness.events())
        call = asyncio.create_task(link.call(wait(), 50_000))
        await until(lambda: len(servant.calls) == 1)

        await server.close()

        with pytest.raises(LinkBroken) as broken:
            await call
        assert not isinstance(broken.value, NotSent)
        assert witness.losses == [Loss.CLOSED]
        assert servant.losses == [(2, Loss.CLOSED)]
        assert not link.is_connected

    in_lab(kind, scenario)


def test_a_link_comes_back_when_its_server_does(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        witness = Witness()
        first = await lab.serve(Servant())
        link = lab.open(first.address, witness.events())
        await link.call(echo(), 5_000)
        await first.close()
        await until(lambda: bool(witness.losses))
        with pytest.raises(NotSent):
            await link.call(echo(), 5_000)

        await lab.serve(Servant(), first.address)
        await until(lambda: link.is_connected)

        assert bytes(await link.call(echo(b"back"), 5_000)) == b"back"
        assert witness.connected_count == 2

    in_lab(kind, scenario)


def test_a_caller_that_closes_is_lost_to_the_service_once(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant, witness = Servant(), Witness()
        link = lab.open((await lab.serve(servant)).address, witness.events())
        call = asyncio.create_task(link.call(wait(), 50_000))
        await until(lambda: len(servant.calls) == 1)

        await link.close()

        with pytest.raises(LinkBroken):
            await call
        with pytest.raises(NotSent):
            await link.call(echo(), 5_000)
        await until(lambda: bool(servant.losses))
        assert servant.losses == [(2, Loss.CLOSED)]
        assert witness.losses == []

    in_lab(kind, scenario)


def test_a_call_is_carried_out_even_if_nobody_waits_for_its_answer_any_more(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        finished: list[str] = []

        class Slow(Servant):
            async def on_call(self, caller: object, call: Call) -> bytes:
                self.calls.append(call)
                await self.gate.wait()
                finished.append("whole")
                return b""

        servant = Slow()
        link = lab.open((await lab.serve(servant)).address)
        call = asyncio.create_task(link.call(wait(), 50_000))
        await until(lambda: len(servant.calls) == 1)
        await link.close()
        await until(lambda: bool(servant.losses))

        servant.gate.set()

        await until(lambda: finished == ["whole"])
        await asyncio.gather(call, return_exceptions=True)

    in_lab(kind, scenario)


def test_a_service_may_close_a_stream(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant, witness = Servant(), Witness()
        link = lab.open((await lab.serve(servant)).address, witness.events())
        await link.call(echo(), 5_000)

        servant.callers[0].close()

        await until(lambda: witness.connected_count == 2)
        assert witness.losses == [Loss.CLOSED]
        assert servant.losses == [(2, Loss.CLOSED)]

    in_lab(kind, scenario)


def test_another_cluster_is_refused_with_a_reason_that_both_ends_log(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, "ours"))
        link = lab.open(server.address, links=lab.links(2, "theirs"))
        reason = "controller 1 is of cluster ours, broker 2 is of cluster theirs"

        with pytest.raises(NotSent, match="of cluster theirs"):
            await link.call(echo(), 5_000)

        await until(lambda: reason in lab.lines.getvalue())
        assert servant.calls == []
        assert servant.losses == []

    in_lab(kind, scenario)


@pytest.mark.parametrize(("ours", "theirs"), [("", "cluster"), ("cluster", "")])
def test_a_node_that_does_not_know_its_cluster_yet_is_let_in(
    kind: str, ours: str, theirs: str
) -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant(), links=lab.links(1, ours))
        link = lab.open(server.address, links=lab.links(2, theirs))

        assert bytes(await link.call(echo(b"in"), 5_000)) == b"in"

    in_lab(kind, scenario)


def test_one_stream_too_many_is_refused(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        serving = lab.links(1, config=LinkConfig(stream_count_max=1))
        server = await lab.serve(Servant(), links=serving)
        first = lab.open(server.address)
        await first.call(echo(), 5_000)

        with pytest.raises(NotSent, match="too many streams"):
            await lab.open(server.address).call(echo(), 5_000)

        assert bytes(await first.call(echo(b"mine"), 5_000)) == b"mine"

    in_lab(kind, scenario)


def test_a_purpose_that_is_not_served_cannot_be_called(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant(), purpose=Purpose.RAFT)

        with pytest.raises(NotSent):
            await lab.open(server.address, purpose=Purpose.FORWARD).call(echo(), 5_000)
        link = lab.open(server.address, purpose=Purpose.RAFT)
        assert bytes(await link.call(echo(b"raft"), 5_000)) == b"raft"

    in_lab(kind, scenario)


def test_where_nobody_listens_calls_fail_before_their_time(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant())
        await server.close()
        link = lab.open(server.address)

        for _ in range(2):
            with pytest.raises(NotSent):
                await link.call(echo(), 50_000)

    in_lab(kind, scenario)


def test_an_address_in_use_cannot_be_served_twice(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant())

        with pytest.raises(OSError, match="in use"):
            await lab.serve(Servant(), server.address)

    in_lab(kind, scenario)


def test_an_idle_link_stays_connected_by_its_pings(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        config = LinkConfig(tick_ms=50)
        servant, witness = Servant(), Witness()
        server = await lab.serve(servant, links=lab.links(1, config=config))
        link = lab.open(server.address, witness.events(), links=lab.links(2, config=config))
        await link.call(echo(), 5_000)

        await asyncio.sleep(2.5)  # eight times the silence that would break it

        assert (witness.losses, servant.losses) == ([], [])

    in_lab(kind, scenario)


def test_without_a_link_error_nothing_is_raised_twice(kind: str) -> None:
    """Failed calls that nobody waits for any more leave no complaint behind."""

    async def scenario(lab: Lab) -> None:
        servant = Servant()
        server = await lab.serve(servant)
        link = lab.open(server.address)
        calls = [asyncio.create_task(link.call(wait(), 50_000)) for _ in range(20)]
        await until(lambda: len(servant.calls) == 20)

        await server.close()
        for call in calls:
            call.cancel()

        done = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, LinkError | asyncio.CancelledError) for error in done)

    in_lab(kind, scenario)
