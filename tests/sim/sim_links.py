"""The network between simulated processes: what carries the frames of the product's links.

`SimNetwork` is one machine's view of the `Fabric` between all of them. Streams are FIFO each way,
and there is no order between them. Every frame crosses as bytes. What can happen to a stream:

- it breaks: a prefix of what was under way arrives, and each end is told, sooner or later;
- it breaks without a word, and each end goes on believing in it;
- it stalls for a while;
- a direction between two machines is cut: what is sent waits, as TCP does, and when the cut heals
  it either arrives late or the stream turns out broken.

A process that dies takes its streams with it, and its kernel tells the others. A machine that dies
tells nobody; only when it is back it answers what still arrives with a reset.
"""

import asyncio
from collections import deque
from contextvars import Context
from random import Random
from typing import Any, NamedTuple, Protocol

from barnabas_core.links.frame import decode_frame, encode_frame
from barnabas_core.links.item import Frame
from barnabas_core.links.transport import Accept, StreamEnded
from barnabas_core.ports.link import Address, Purpose
from tests.sim.virtual_loop import Process, VirtualLoop, current_process

FAST_NETWORK = (0.000_1, 0.003)
SLOW_NETWORK = (0.005, 0.06)
CONNECT_TIMEOUT = 2.0
PURPOSES = [*Purpose, None]


class _Fin(NamedTuple):
    """The last thing in a pipe."""

    reason: str


class _Pipe:
    """One direction of a stream."""

    def __init__(self, source: "StreamEnd", target: "StreamEnd") -> None:
        self.source = source
        self.target = target
        self.last_at = 0.0
        self.stalled_until = 0.0
        self.sent_count = 0
        self.arrived_count = 0
        self.keeps = 1 << 62
        """Numbers above this never arrive: a stream has no holes, so nothing later does."""
        self.held: deque[bytes | _Fin] = deque()


class StreamEnd:
    """One end of a stream: a `Transport`."""

    def __init__(self, fabric: "Fabric", machine: int, peer: str) -> None:
        self._fabric = fabric
        self.machine = machine
        self.peer = peer
        self.process: Process | None = None
        self.out: _Pipe
        self.ended: str | None = None
        self._inbox: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None

    async def send(self, frame: Frame) -> None:
        if self.ended is not None:
            raise StreamEnded(self.ended)
        self._fabric.send(self.out, encode_frame(frame))

    async def receive(self) -> Frame:
        while not self._inbox:
            if self.ended is not None:
                raise StreamEnded(self.ended)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return decode_frame(self._inbox.popleft())

    async def close(self) -> None:
        if self.ended is None:
            self._fabric.finish(self.out)
        self.end("closed by this end")

    # --- from the fabric

    @property
    def is_dead(self) -> bool:
        return self.process is not None and not self.process.is_alive

    def put(self, data: bytes) -> None:
        if self.ended is None:
            self._inbox.append(data)
            self._wake()

    def end(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Listening:
    def __init__(
        self, network: "SimNetwork", address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> None:
        self._network = network
        self.address = address
        self.purposes = purposes
        self.process = current_process()
        self._accept = accept
        self._tasks: dict[asyncio.Task[None], None] = {}

    def accept(self, purpose: Purpose, end: StreamEnd) -> None:
        end.process = self.process
        task = self.process.start(self._serve(purpose, end), "accept")
        self._tasks[task] = None

    async def _serve(self, purpose: Purpose, end: StreamEnd) -> None:
        try:
            await self._accept(purpose, end)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.pop(task, None)

    async def close(self) -> None:
        self._network.forget(self)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Listening(Protocol):
    """Whoever waits for streams at an address."""

    @property
    def address(self) -> Address: ...

    @property
    def purposes(self) -> tuple[Purpose | None, ...]: ...

    def accept(self, purpose: Any, end: Any) -> None: ...  # noqa: ANN401 - of its own kind


class Fabric:
    def __init__(self, loop: VirtualLoop, rng: Random) -> None:
        self.loop = self._loop = loop
        self._rng = rng
        self._world = Context()
        self._machines: dict[str, int] = {}
        self._listeners: dict[Address, Listening] = {}
        self._streams: list[tuple[StreamEnd, StreamEnd]] = []
        self._cuts: dict[tuple[int, int], None] = {}
        self._down: dict[int, None] = {}
        self._next_port = 50_000
        self.delay_s = FAST_NETWORK
        self.frame_count = 0

    def machine(self, number: int, host: str) -> "SimNetwork":
        self._machines[host] = number
        return SimNetwork(self, number)

    @property
    def machine_numbers(self) -> list[int]:
        return list(self._machines.values())

    # --- sending

    def send(self, pipe: _Pipe, what: bytes | _Fin) -> None:
        loop = self._loop
        pipe.sent_count += 1
        at = loop.now + self._rng.uniform(*self.delay_s)
        pipe.last_at = max(at, pipe.last_at, pipe.stalled_until)
        self._later(pipe.last_at, self._arrive, pipe, pipe.sent_count, what)

    def finish(self, pipe: _Pipe) -> None:
        """Nothing more comes: the last thing that the other end hears."""
        self.send(pipe, _Fin("closed by the other end"))

    def reset(self, pipe: _Pipe) -> None:
        """What has not arrived yet never will; the other end hears of it."""
        pipe.keeps = pipe.arrived_count
        pipe.held.clear()
        self._later(max(self._soon(), pipe.last_at), pipe.target.end, "reset")

    def _later(self, at: float, call: Any, *arguments: object) -> None:  # noqa: ANN401
        """As the world outside: what is on the wire does not die with who sent it."""
        self._loop.call_at(at, call, *arguments, context=self._world)

    def _arrive(self, pipe: _Pipe, number: int, what: bytes | _Fin) -> None:
        if number > pipe.keeps:
            return
        if pipe.held or (pipe.source.machine, pipe.target.machine) in self._cuts:
            pipe.held.append(what)
        else:
            self._deliver(pipe, what)

    def _deliver(self, pipe: _Pipe, what: bytes | _Fin) -> None:
        pipe.arrived_count += 1
        target = pipe.target
        if target.is_dead or target.machine in self._down:
            if target.machine not in self._down:
                self._later(self._soon(), pipe.source.end, "reset by the other end")
            return
        if isinstance(what, _Fin):
            self._loop.note(pipe.source.machine, target.machine)
            target.end(what.reason)
        else:
            self.frame_count += 1
            self._loop.note_bytes(what, pipe.source.machine, target.machine)
            target.put(what)

    def _soon(self) -> float:
        return self._loop.now + self._rng.uniform(*self.delay_s)

    # --- opening

    def connect(self, source: int, purpose: Purpose, address: Address) -> StreamEnd:
        target = self._machines.get(address.host, -1)
        near = StreamEnd(self, source, str(address))
        self.join(near, StreamEnd(self, target, f"machine {source}"), purpose, address)
        return near

    def join(
        self, near: StreamEnd, far: StreamEnd, purpose: Purpose | None, address: Address
    ) -> None:
        """Make a stream of the two, if somebody listens there; no purpose: a socket."""
        near.process = current_process()
        near.out, far.out = _Pipe(near, far), _Pipe(far, near)
        self._streams.append((near, far))
        if len(self._streams) % 64 == 0:
            self._sweep()
        at = near.out.last_at = self._soon()
        self._later(at, self._on_connect, near, far, purpose, address)

    def _on_connect(
        self, near: StreamEnd, far: StreamEnd, purpose: Purpose | None, address: Address
    ) -> None:
        pair = (near.machine, far.machine)
        is_cut = pair in self._cuts or pair[::-1] in self._cuts
        if is_cut or far.machine in self._down:
            self._later(self._loop.now + CONNECT_TIMEOUT, near.end, "unreachable")
            near.out.keeps = 0
            return
        listening = self._listeners.get(address)
        if listening is None or purpose not in listening.purposes:
            near.out.keeps = 0
            self._later(self._soon(), near.end, "refused")
            return
        self._loop.note(near.machine, far.machine, PURPOSES.index(purpose))
        listening.accept(purpose, far)

    def machine_of(self, host: str) -> int:
        return self._machines.get(host, -1)

    def _sweep(self) -> None:
        self._streams = [
            (near, far) for near, far in self._streams if near.ended is None or far.ended is None
        ]

    # --- listening

    def listen(self, listening: "Listening") -> None:
        if listening.address in self._listeners:
            raise OSError(f"{listening.address} is in use")
        self._listeners[listening.address] = listening

    def forget(self, listening: "Listening") -> None:
        if self._listeners.get(listening.address) is listening:
            del self._listeners[listening.address]

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    # --- faults

    def set_cut(self, source: int, target: int) -> None:
        self._cuts[source, target] = None

    def heal(self) -> None:
        self._cuts.clear()
        for near, far in self._streams:
            for pipe in (near.out, far.out):
                pipe.stalled_until = 0.0
                if pipe.held:
                    self._release(pipe)

    def _release(self, pipe: _Pipe) -> None:
        held, pipe.held = pipe.held, deque()
        is_broken = self._rng.random() < 0.5
        kept = self._rng.randrange(len(held) + 1) if is_broken else len(held)
        for _ in range(kept):
            self._deliver(pipe, held.popleft())
        if is_broken:
            self._break(pipe.source, pipe.target, with_notice=True)

    def stall(self, one: int, other: int, for_s: float) -> None:
        for near, far in self._between(one, other):
            for pipe in (near.out, far.out):
                if pipe.source.machine == one:
                    pipe.stalled_until = self._loop.now + for_s

    def break_streams(self, one: int, other: int, *, with_notice: bool) -> None:
        for near, far in self._between(one, other):
            if self._rng.random() < 0.7:
                self._break(near, far, with_notice=with_notice)

    def _between(self, one: int, other: int) -> list[tuple[StreamEnd, StreamEnd]]:
        return [
            (near, far)
            for near, far in self._streams
            if {near.machine, far.machine} == {one, other}
            and (near.ended is None or far.ended is None)
        ]

    def _break(self, near: StreamEnd, far: StreamEnd, *, with_notice: bool) -> None:
        for end in (near, far):
            self._cut_short(end.out)
            if with_notice:
                at = self._loop.now + self._rng.uniform(0, 0.02)
                self._later(max(at, end.out.last_at), end.out.target.end, "reset")

    def _cut_short(self, pipe: _Pipe) -> None:
        under_way = 0 if pipe.held else max(0, pipe.sent_count - pipe.arrived_count)
        kept = pipe.arrived_count + self._rng.randrange(under_way + 1)
        pipe.keeps = min(pipe.keeps, kept)
        pipe.held.clear()

    def crash(self, machine: int, *, is_machine: bool) -> None:
        """The process there is gone; call it before another one starts."""
        self._listeners = {
            address: listening
            for address, listening in self._listeners.items()
            if self._machines[address.host] != machine
        }
        for near, far in self._streams:
            for end in (near, far):
                if end.machine == machine and end.ended is None:
                    self._cut_short(end.out)
                    end.end("dead")
                    if not is_machine:
                        at = self._loop.now + self._rng.uniform(0, 0.02)
                        self._later(max(at, end.out.last_at), end.out.target.end, "reset")
        if is_machine:
            self._down[machine] = None

    def power_on(self, machine: int) -> None:
        self._down.pop(machine, None)


class SimNetwork:
    """A `Network`, as one machine sees it."""

    def __init__(self, fabric: Fabric, machine: int) -> None:
        self._fabric = fabric
        self._machine = machine

    async def connect(self, purpose: Purpose, address: Address) -> StreamEnd:
        return self._fabric.connect(self._machine, purpose, address)

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> _Listening:
        if address.port == 0:
            address = Address(address.host, self._fabric.free_port())
        listening = _Listening(self, address, purposes, accept)
        self._fabric.listen(listening)
        return listening

    def forget(self, listening: _Listening) -> None:
        self._fabric.forget(listening)
