"""Controllers with one mistake each: what the `controller` profile must find.

Each variant patches the product's code for as long as it is entered.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from barnabas_controller import engine as engine_module
from barnabas_controller.engine import Engine
from barnabas_controller.managers.view import Result, View
from barnabas_controller.quorum.disk_writer import DiskWriter
from barnabas_controller.quorum.listener import SnapshotSource
from barnabas_core.links import controller_client
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import NotActive
from tests.sim.broken import Variant

if TYPE_CHECKING:
    import asyncio


def answers_before_commit() -> AbstractContextManager[object]:
    submit = Engine.submit

    def impatient(self: Engine, decide: Callable[[View], Result[Any]]) -> "asyncio.Future[Any]":
        responses: list[Any] = []

        def and_note(view: View) -> Result[Any]:
            result = decide(view)
            responses.append(result.response)
            return result

        answer = submit(self, and_note)
        if not answer.done():
            answer.set_result(responses[0])
        return answer

    return patch.object(Engine, "submit", impatient)


def keeps_pending_state_after_resigning() -> AbstractContextManager[object]:
    on_inactive = Engine.on_inactive

    def with_everything(self: Engine) -> None:
        assert self._reign is not None
        self._reign.committed = self.latest
        on_inactive(self)

    return patch.object(Engine, "on_inactive", with_everything)


def says_not_done_of_what_may_be_done() -> AbstractContextManager[object]:
    return patch.object(engine_module, "CallFailed", lambda _: NotActive())


def persisted_without_a_sync() -> AbstractContextManager[object]:
    async def nothing(self: DiskWriter) -> None:
        pass

    return patch.object(DiskWriter, "_flush", nothing)


def retries_what_may_be_done() -> AbstractContextManager[object]:
    every = (*controller_client._HARMLESS, *controller_client._UNCERTAIN)
    return patch.object(controller_client, "_HARMLESS", every)


def snapshots_without_their_last_record() -> AbstractContextManager[object]:
    begin = Engine.begin_snapshot

    def short(self: Engine) -> SnapshotSource | None:
        source = begin(self)
        if source is None:
            return None
        batches = _without_last(source.batches)
        return SnapshotSource(source.end_offset, source.last_appended_at_ms, batches)

    return patch.object(Engine, "begin_snapshot", short)


def _without_last(batches: Iterator[Sequence[Buffer]]) -> Iterator[Sequence[Buffer]]:
    kept = [list(batch) for batch in batches]
    kept[-1].pop()
    return iter([batch for batch in kept if batch])


VARIANTS: dict[str, Variant] = {
    variant.__name__: variant
    for variant in (
        answers_before_commit,
        keeps_pending_state_after_resigning,
        says_not_done_of_what_may_be_done,
        persisted_without_a_sync,
        retries_what_may_be_done,
        snapshots_without_their_last_record,
    )
}
