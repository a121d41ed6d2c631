"""The sessions of all brokers with this coordinator. A `Service` for `Purpose.SHARD`."""

import asyncio

from barnabas_coordinator.session import Session, SessionParts
from barnabas_core.links.shard_message import (
    FEED,
    BadShardMessage,
    Close,
    Committed,
    Epoch,
    Item,
    Load,
    Lost,
    Open,
    ShardRequest,
    Writable,
    decode_feed,
)
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, Loss
from barnabas_core.runtime.supervisor import TaskList


class ShardService:
    def __init__(self, on: SessionParts) -> None:
        self._on = on
        self._sessions: dict[Caller, dict[int, Session]] = {}
        self._tasks = TaskList(on.log)

    @property
    def session_count(self) -> int:
        return sum(map(len, self._sessions.values()))

    @property
    def loading_count(self) -> int:
        """Sessions whose shard is not served yet."""
        return sum(not (one.is_loaded or one.is_over) for one in self.sessions)

    @property
    def sessions(self) -> list[Session]:
        return [one for sessions in self._sessions.values() for one in sessions.values()]

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if caller.identity.role != "broker" or call.api_key != FEED:
            raise CallRefused("this stream is for the owners of shards")
        sessions = self._sessions.setdefault(caller, {})
        try:
            items = decode_feed(call.body)
            for item in items:
                self._take(caller, sessions, item)
        except BadShardMessage as error:
            caller.close()
            raise CallRefused(str(error)) from error
        # What the sessions make of it at once travels in the same frame as this answer: a message
        # between processes costs more than most decisions.
        await asyncio.sleep(0)
        for number in {item.session: None for item in items if isinstance(item, Load)}:
            if number in sessions:
                await sessions[number].wait_for_room()
        return b""

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        for session in self._sessions.pop(caller, {}).values():
            session.close()

    def on_image(self) -> None:
        for sessions in self._sessions.values():
            for session in sessions.values():
                session.on_image()

    async def close(self) -> None:
        for caller in list(self._sessions):
            self.on_lost(caller, Loss.CLOSED)
        await self._tasks.stop()

    def _take(self, caller: Caller, sessions: dict[int, Session], item: Item) -> None:
        if isinstance(item, Open):
            session = sessions[item.session] = Session(item, caller, self._on)
            self._tasks.start(session.run())
            return
        found = sessions.get(item.session)
        if found is None:
            return  # crossed with its end
        if isinstance(item, Load | ShardRequest):
            found.put(item)
        elif isinstance(item, Committed):
            found.on_committed(item.high_watermark)
        elif isinstance(item, Writable):
            found.on_writable(item.is_writable)
        elif isinstance(item, Epoch):
            found.on_epoch(item.leader_epoch)
        elif isinstance(item, Lost):
            found.on_lost(item.correlation)
        elif isinstance(item, Close):
            found.close()
            del sessions[item.session]
