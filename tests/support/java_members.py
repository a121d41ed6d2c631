"""Members of groups in Java's client (`SteadyMembers.java`), and what they print, as it comes."""

import threading
import time
from collections.abc import Sequence
from subprocess import PIPE, Popen
from typing import Final, NamedTuple

from tests.support.controller_process import until

_AWHILE_S: Final = 180.0


class Commit(NamedTuple):
    sent_at: float
    at: float
    offset: int
    partition: int
    member_id: str
    epoch: int
    """Of the member, or the generation."""


class JavaMembers:
    """Ends with `close`."""

    def __init__(self, command: Sequence[str], names: Sequence[str]) -> None:
        self.names = names
        self.commits: dict[str, list[Commit]] = {name: [] for name in names}
        self.events: dict[str, list[str]] = {name: [] for name in names}
        """What happened to their partitions."""
        self._sent_at: dict[str, float] = {}
        self._process = Popen(command, stdout=PIPE, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, _, rest = line.strip().partition(" ")
            if name in self.commits:
                self._take(name, rest)

    def _take(self, name: str, said: str) -> None:
        word, *more = said.split(" ")
        if word == "sends":
            self._sent_at[name] = time.monotonic()
        elif word == "committed":
            offset, partition, member_id, epoch = more
            sent_at, at = self._sent_at[name], time.monotonic()
            commit = Commit(sent_at, at, int(offset), int(partition), member_id, int(epoch))
            self.commits[name].append(commit)
        elif word != "failed":
            self.events[name].append(said)

    def wait_served(self, since: float) -> float:
        """How long after `since` the last of them was acknowledged a commit sent after it."""

        def is_so() -> bool:
            assert self._process.poll() is None, "the Java program ended"
            return all(self._served_at(name, since) is not None for name in self.names)

        until(is_so, "every Java member is served", _AWHILE_S)
        return max(self._served_at(name, since) or 0 for name in self.names) - since

    def _served_at(self, name: str, since: float) -> float | None:
        return next((one.at for one in self.commits[name] if one.sent_at >= since), None)

    def standing(self) -> list[tuple[int, str, int, int]]:
        """Of each: partition, member id, epoch, and how often its partitions have changed."""
        last = {name: self.commits[name][-1] for name in self.names}
        return [
            (one.partition, one.member_id, one.epoch, len(self.events[name]))
            for name, one in last.items()
        ]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(_AWHILE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
