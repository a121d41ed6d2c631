"""A simulated controller: the product's `ControllerService`, from a formatted directory on.

The directory is formatted as `kafka-storage` does it and the properties are Kafka's, read as a node
reads them. The only addition is a tap: whatever the quorum tells the engine, the truth hears too.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.storage.format_command import FormatOptions, format_spec
from barnabas.storage.formatting import format_directories
from barnabas_controller.controller_config import controller_config
from barnabas_controller.engine import Engine
from barnabas_controller.quorum.listener import SnapshotSource
from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_core.config.server_properties import NodeProperties, load_server_properties
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.metadata.bootstrap import load_bootstrap
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.ports import DiskError
from barnabas_core.raft import NodeId, ReplicaKey, VoterSet
from barnabas_core.raft.internal_address import INTERNAL_PORT_OFFSET
from barnabas_core.wire.primitive import uuid_text
from tests.sim.controller_truth import Truth
from tests.sim.sim_machine import SimMachine
from tests.sim.sim_ports import SimClock, SimRng
from tests.sim.virtual_loop import Process

CONTROLLER_PORT = 9_093
INTERNAL_PORT = CONTROLLER_PORT + INTERNAL_PORT_OFFSET
DIRECTORY = "/data"
COMPARE_EVERY = 3
"""To look at a standby's image makes it: not after each batch, then, as nobody else does."""


class NoListener:
    """Admin clients do not take part: the same requests come over links."""

    async def reserve(self, host: str, port: int) -> tuple[str, int]:
        return host, port

    async def listen(self, host: str, port: int, accept: Callable[[], object]) -> tuple[str, int]:
        return host, port

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class ControllerNode:
    """What is known of one controller across its processes."""

    machine: SimMachine
    truth: Truth
    properties: dict[str, str]
    voters: str | None
    """`--initial-controllers`; None: it learns them from others."""
    cluster_id: str
    service: ControllerService | None = None
    read: NodeProperties = field(init=False)

    key: ReplicaKey = field(init=False)

    @property
    def is_active(self) -> bool:
        return self.is_up and self.service is not None and self.service.engine.is_active

    @property
    def is_up(self) -> bool:
        return self.machine.is_running

    @property
    def offset(self) -> int:
        """Everything before it is applied here."""
        if not self.is_up or self.service is None:
            return -1
        return self.service.engine.committed.provenance.offset + 1

    @property
    def voters_now(self) -> VoterSet:
        assert self.service is not None
        return self.service.driver.node.quorum.history.voters

    def format(self) -> None:
        text = "".join(f"{name}={value}\n" for name, value in self.properties.items())
        self.read = load_server_properties("server.properties", {}, lambda _: text.encode())
        options = FormatOptions(
            self.cluster_id,
            initial_controllers=self.voters,
            no_initial_controllers=self.voters is None,
        )
        rng = SimRng(self.machine.chance.getrandbits(32))
        clock = SimClock(Process(self.machine.world.loop, self.machine.number))
        spec = format_spec(self.read, options, rng)
        done = format_directories(self.machine.disk, rng, clock, spec)
        self.key = ReplicaKey(NodeId(self.machine.number), done.formatted[0].directory_id)

    async def run(self) -> None:
        """One process, from its start to the loss of its disk."""
        machine = self.machine
        data = machine.disk.read(f"{DIRECTORY}/{META_PROPERTIES_FILE}")
        assert data is not None, "it was formatted"
        meta = MetaProperties.decode(data)
        assert meta.directory_id is not None, "by a tool that gives directories ids"
        links = machine.links(meta.cluster_id, "controller")
        self.service = ControllerService(
            controller_config(self.read, meta.cluster_id, meta.directory_id),
            load_bootstrap(machine.disk, DIRECTORY).records,
            links.identity.incarnation_id,
            ControllerPorts(
                machine.clock,
                machine.rng,
                machine.disk,
                machine.executor,
                links,
                NoListener,
                machine.log,
            ),
        )
        Tap(machine.number, self.truth, self.service)
        try:
            await self.service.start()
            is_lost = await self._wait_for_end(self.service)
            await self.service.stop()
        except DiskError:
            is_lost = True
        # What a failed disk holds is not known any more: the machine goes down with it.
        machine.world.later(0.0, lambda: machine.crash(machine=is_lost))

    async def _wait_for_end(self, service: ControllerService) -> bool:
        """Whether it lost its disk; otherwise it was told to end."""
        end = asyncio.Event()
        self.machine.terminate = end.set
        fatal = asyncio.get_running_loop().create_task(service.wait_fatal())
        fatal.add_done_callback(lambda _: end.set())
        await end.wait()
        if not fatal.done():
            fatal.cancel()
            return False
        error = fatal.result()
        if not isinstance(error, DiskError):
            self.machine.world.loop.fail(error)
        return True


def voters_argument(machines: Sequence[SimMachine], directory_ids: Sequence[bytes]) -> str:
    return ",".join(
        f"{machine.number}@{machine.host}:{CONTROLLER_PORT}:{uuid_text(directory_id)}"
        for machine, directory_id in zip(machines, directory_ids, strict=True)
    )


class Tap:
    """Listens to what passes between the quorum's driver and the engine."""

    def __init__(self, node_id: int, truth: Truth, service: ControllerService) -> None:
        self._id = node_id
        self._truth = truth
        self._engine = service.engine
        self._appended: list[tuple[int, list[bytes]]] = []
        self._in_snapshot = False
        self._wrap(service.engine, "on_snapshot_begin", self._on_snapshot_begin)
        self._wrap(service.engine, "on_snapshot_end", self._on_snapshot_end)
        self._wrap(service.engine, "on_batch", self._on_batch)
        self._wrap(service.engine, "on_active", self._on_active)
        self._wrap(service.engine, "on_committed", self._on_committed)
        self._wrap(service.engine, "on_inactive", self._on_inactive)
        self._wrap_append(service.driver)
        self._wrap_begin_snapshot(service.engine)

    def _wrap(self, target: object, name: str, seen: Callable[..., None]) -> None:
        original = getattr(target, name)

        def both(*arguments: Any) -> None:  # noqa: ANN401 - whatever the driver hands over
            seen(original, *arguments)

        setattr(target, name, both)

    def _wrap_append(self, driver: object) -> None:
        original = driver.append  # type: ignore[attr-defined]

        def append(epoch: int, batches: Sequence[Sequence[bytes]], now_ms: int) -> int:
            end_offset: int = original(epoch, batches, now_ms)
            values = [value for batch in batches for value in batch]
            self._appended.append((end_offset - len(values), values))
            return end_offset

        driver.append = append  # type: ignore[attr-defined]

    def _wrap_begin_snapshot(self, engine: Engine) -> None:
        original = engine.begin_snapshot

        def begin_snapshot() -> SnapshotSource | None:
            source = original()
            self._truth.count.snapshots_begun += source is not None
            return source

        setattr(engine, "begin_snapshot", begin_snapshot)  # noqa: B010 - mypy minds the other way

    def _on_snapshot_begin(self, original: Any, snapshot_id: object) -> None:  # noqa: ANN401
        self._in_snapshot = True
        original(snapshot_id)

    def _on_snapshot_end(self, original: Any) -> None:  # noqa: ANN401
        self._in_snapshot = False
        original()
        image = self._engine.committed
        if image.provenance.offset >= 0:
            self._truth.count.snapshots_loaded += 1
            self._truth.on_image(self._id, image)

    def _on_batch(self, original: Any, batch: CommittedBatch) -> None:  # noqa: ANN401
        if not self._in_snapshot:
            self._truth.on_batch(self._id, batch)
        original(batch)
        if not self._in_snapshot and batch.base_offset % COMPARE_EVERY == 0:
            self._truth.on_image(self._id, self._engine.committed)

    def _on_active(self, original: Any, epoch: int, end_offset: int) -> None:  # noqa: ANN401
        self._truth.on_active(self._id, epoch)
        self._appended.clear()
        original(epoch, end_offset)

    def _on_committed(self, original: Any, end_offset: int) -> None:  # noqa: ANN401
        while self._appended and self._appended[0][0] < end_offset:
            base_offset, values = self._appended.pop(0)
            self._fill(base_offset)
            self._truth.on_values(self._id, base_offset, values, 0)
        self._fill(end_offset)
        original(end_offset)
        if end_offset % COMPARE_EVERY == 0:
            self._truth.on_image(self._id, self._engine.committed)

    def _fill(self, end_offset: int) -> None:
        """What the engine did not append is the quorum's own."""
        missing = end_offset - self._truth.end_offset
        if missing > 0:
            self._truth.on_values(self._id, self._truth.end_offset, [None] * missing, 0)

    def _on_inactive(self, original: Any) -> None:  # noqa: ANN401
        self._truth.count.deposed += bool(self._appended)
        self._appended.clear()
        original()
        self._truth.on_image(self._id, self._engine.committed)
