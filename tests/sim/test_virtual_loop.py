"""The loop of the simulator: time that jumps, processes that die without a word."""

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from tests.sim.sim_disk import SimDisk
from tests.sim.sim_ports import SimClock, SimExecutor
from tests.sim.virtual_loop import Process, SimulationStuck, VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_time_jumps_to_the_next_timer(loop: VirtualLoop) -> None:
    loop.run_until_complete(asyncio.sleep(86_400))

    assert loop.now == 86_400
    assert loop.step_count < 10


def test_timers_of_one_moment_run_in_the_order_of_asking(loop: VirtualLoop) -> None:
    order: list[int] = []
    for number in range(50):
        loop.call_later(1.0, order.append, number)

    loop.run_until_complete(asyncio.sleep(2))

    assert order == list(range(50))


def test_a_timeout_ends_a_wait_for_nothing(loop: VirtualLoop) -> None:
    async def wait() -> None:
        async with asyncio.timeout(5):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        loop.run_until_complete(wait())
    assert loop.now == 5


def test_a_wait_for_nothing_without_a_timeout_is_found(loop: VirtualLoop) -> None:
    with pytest.raises(SimulationStuck, match="nothing is left to happen"):
        loop.run_until_complete(asyncio.Event().wait())


def test_a_busy_loop_is_found(loop: VirtualLoop) -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - that is what is wrong with it
            await asyncio.sleep(0)

    with pytest.raises(SimulationStuck, match="time stands still"):
        loop.run_until_complete(spin())


def test_an_error_that_nobody_handles_ends_the_run(loop: VirtualLoop) -> None:
    def fail() -> None:
        raise ValueError("of nobody")

    loop.call_later(1, fail)

    with pytest.raises(ValueError, match="of nobody"):
        loop.run_until_complete(asyncio.sleep(2))


def test_a_killed_process_never_goes_on_and_tidies_nothing_up(loop: VirtualLoop) -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            while True:
                seen.append("step")
                await asyncio.sleep(1)
        finally:
            seen.append("tidied up")

    process = Process(loop, 1)
    process.start(work(), "work")
    loop.run_until_complete(asyncio.sleep(2.5))
    process.kill()
    loop.run_until_complete(asyncio.sleep(10))

    assert seen == ["step"] * 3


def test_a_stopped_process_goes_on_where_it_was_and_finds_the_time_gone(loop: VirtualLoop) -> None:
    process = Process(loop, 1)
    clock = SimClock(process)
    seen: list[int] = []

    async def work() -> None:
        while True:
            seen.append(clock.monotonic_ms())
            await asyncio.sleep(1)

    process.start(work(), "work")
    loop.run_until_complete(asyncio.sleep(0.5))
    process.stop()
    loop.run_until_complete(asyncio.sleep(9.75))
    process.resume()
    loop.run_until_complete(asyncio.sleep(0.25))

    assert seen == [0, 10_250]


def test_a_process_with_a_fast_clock_is_early_by_the_clock_of_the_world(loop: VirtualLoop) -> None:
    process = Process(loop, 1)
    process.set_rate(1.25)

    async def nap() -> float:
        await asyncio.sleep(10)
        return loop.time()

    own_time = loop.run_until_complete(process.start(nap(), "nap"))

    assert own_time == pytest.approx(10)
    assert loop.now == pytest.approx(8)


def executor_of(loop: VirtualLoop, seed: int = 0) -> tuple[Process, SimDisk, SimExecutor]:
    disk = SimDisk(seed)
    process = Process(loop, 1)
    return process, disk, SimExecutor(loop, disk, Random(seed), SimClock(process))


def test_a_call_in_a_thread_takes_effect_and_answers_later(loop: VirtualLoop) -> None:
    process, _, executor = executor_of(loop)
    done_at: list[float] = []

    async def work() -> float:
        await executor.in_thread(lambda: done_at.append(loop.now))
        return loop.now

    answered_at = loop.run_until_complete(process.start(work(), "work"))

    assert 0 < done_at[0] < answered_at


def test_errors_of_a_call_in_a_thread_reach_the_caller(loop: VirtualLoop) -> None:
    process, disk, executor = executor_of(loop)

    async def work() -> None:
        await executor.in_thread(lambda: disk.open("absent"))

    with pytest.raises(Exception, match="no such file"):
        loop.run_until_complete(process.start(work(), "work"))


def test_calls_of_a_killed_process_are_done_in_part_or_not_and_never_answered(
    loop: VirtualLoop,
) -> None:
    outcomes = set()
    for seed in range(60):
        process, disk, executor = executor_of(loop, seed)
        disk.make_dirs("d")

        def write(disk: SimDisk = disk) -> None:
            file = disk.open("d/file", create=True)
            file.write_at(0, [b"0123456789"])
            file.sync()

        async def work(executor: SimExecutor = executor) -> None:
            await executor.in_thread(write)
            raise AssertionError("answered")

        process.start(work(), "work")
        loop.run_until_complete(asyncio.sleep(0.000_05))
        process.kill()
        executor.crash()
        disk.power_off(machine=False)
        loop.run_until_complete(asyncio.sleep(1))
        outcomes.add(disk.read("d/file"))

    assert None in outcomes
    assert b"0123456789" in outcomes
    assert any(content and len(content) < 10 for content in outcomes)
