"""Where sessions failed, by shard: a coordinator that failed here is not tried again at once. Pure.

The wait doubles with each failure in a row; a session that has lasted a while breaks the row.
"""

from typing import Final, NamedTuple

from barnabas_core.ports.link import Address

_WAIT_MS_MIN: Final = 100
_WAIT_MS_MAX: Final = 10_000
_LASTING_MS: Final = 30_000


class _Failure(NamedTuple):
    wait_ms: int
    until_ms: int


class SessionFailures:
    def __init__(self) -> None:
        self._failures: dict[tuple[int, Address], _Failure] = {}

    def note(self, shard: int, at: Address, lasted_ms: int, now_ms: int) -> None:
        """A session ended that nobody here wanted to end."""
        before = self._failures.get((shard, at))
        wait_ms = _WAIT_MS_MIN
        if before is not None and lasted_ms < _LASTING_MS:
            wait_ms = min(2 * before.wait_ms, _WAIT_MS_MAX)
        self._failures[shard, at] = _Failure(wait_ms, now_ms + wait_ms)

    def forget(self, at: Address) -> None:
        """Another process is there now, or nobody any more."""
        self._failures = {key: one for key, one in self._failures.items() if key[1] != at}

    def avoided(self, now_ms: int) -> dict[int, list[Address]]:
        found: dict[int, list[Address]] = {}
        for (shard, at), failure in self._failures.items():
            if now_ms < failure.until_ms:
                found.setdefault(shard, []).append(at)
        return found
