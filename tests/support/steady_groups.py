"""Applications that are members of groups while their cluster is tormented, and what they saw.

    with SteadyGroups(bootstrap, "orders", "classic") as groups:
        groups.wait_settled()
        ...                                     # kill, restart
        groups.wait_served(since)
    groups.check()

Each group has two members, each with a partition of its own. A member polls, and commits a number
that rises, over and over: when one is acknowledged that was sent after a fault, its group is served
again. In the end what a group has committed is at least what it was told, and no member was ever
told to give its partition up.
"""

import threading
import time
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.support.controller_process import until

GROUPS: Final = 3
MEMBERS: Final = 2
_PAUSE_S: Final = 0.1
_AWHILE_S: Final = 120.0


class Acknowledged(NamedTuple):
    offset: int
    sent_at: float
    at: float


class SteadyMember:
    """A consumer in a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, group: str, protocol: str) -> None:
        self.group = group
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,  # that brokers go and that offsets are made up is known
            }
        )
        self.events: list[str] = []
        """What happened to its partitions."""
        self.acknowledged: list[Acknowledged] = []
        self.owned: list[int] = []
        self.member_id = ""
        self.broken: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._consumer.subscribe(
                [self._topic],
                on_assign=self._noted("assigned"),
                on_revoke=self._noted("revoked"),
                on_lost=self._noted("lost"),
            )
            offset = 0
            while not self._is_over.is_set():
                self._consumer.poll(0)
                self.owned = [one.partition for one in self._consumer.assignment()]
                self.member_id = self._consumer.memberid() or ""
                offset += 1
                self._commit(offset)
                self._is_over.wait(_PAUSE_S)
        except BaseException as error:
            self.broken = error
        finally:
            self._consumer.close()

    def _noted(self, what: str) -> Any:  # noqa: ANN401 - as the client's stubs want it
        return lambda _, partitions: self.events.append(
            f"{what} {sorted(one.partition for one in partitions)}"
        )

    def _commit(self, offset: int) -> None:
        if not self.owned:
            return
        sent_at = time.monotonic()
        wanted = [TopicPartition(self._topic, it, offset) for it in self.owned]
        try:
            answered = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException:
            return
        if not any(one.error for one in answered):
            self.acknowledged.append(Acknowledged(offset, sent_at, time.monotonic()))

    def served_at(self, since: float) -> float | None:
        """When a commit was acknowledged that was sent after `since`."""
        later = (one.at for one in reversed(self.acknowledged) if one.sent_at >= since)
        return min(later, default=None)

    def stop(self) -> None:
        self._is_over.set()

    def join(self) -> None:
        self._thread.join(_AWHILE_S)
        assert not self._thread.is_alive(), f"a member of {self.group} does not end"


class SteadyGroups:
    def __init__(self, bootstrap: str, topic: str, *protocols: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self.members = [
            SteadyMember(bootstrap, topic, f"{protocol}-{number}", protocol)
            for protocol in protocols
            for number in range(GROUPS)
            for _ in range(MEMBERS)
        ]
        self._settled: list[tuple[str, list[int], int]] = []

    @property
    def groups(self) -> list[str]:
        return sorted({member.group for member in self.members})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for member in self.members:
            member.stop()
        for member in self.members:
            member.join()

    def wait_settled(self) -> None:
        """Each member has its partition, and has committed. From here on nothing may change."""

        def is_so() -> bool:
            self._assert_well()
            now = time.monotonic() - 1
            return all(len(one.owned) == 1 and one.served_at(now) for one in self.members)

        until(is_so, "every member has a partition and commits", _AWHILE_S)
        self._settled = self._standing()

    def wait_served(self, since: float, protocol: str = "") -> float:
        """How long after `since` the last group was served again, in seconds."""
        asked = [one for one in self.members if one.group.startswith(protocol)]

        def is_so() -> bool:
            self._assert_well()
            return all(one.served_at(since) is not None for one in asked)

        until(is_so, "every group is served again", _AWHILE_S)
        return max(one.served_at(since) or 0 for one in asked) - since

    def assert_nobody_was_put_out(self) -> None:
        assert self._standing() == self._settled

    def _standing(self) -> list[tuple[str, list[int], int]]:
        """Who is who, what it owns, and how often that has changed."""
        return [(one.member_id, one.owned, len(one.events)) for one in self.members]

    def _assert_well(self) -> None:
        for member in self.members:
            assert member.broken is None, repr(member.broken)

    def check(self) -> None:
        """After their end: nothing of what was acknowledged is lost or turned back."""
        for group in self.groups:
            consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
            try:
                members = [one for one in self.members if one.group == group]
                wanted = [TopicPartition(self._topic, one.owned[0]) for one in members]
                found = consumer.committed(wanted, _AWHILE_S)
                for member, at in zip(members, found, strict=True):
                    assert at.offset >= member.acknowledged[-1].offset, f"{group}: {at}"
            finally:
                consumer.close()
