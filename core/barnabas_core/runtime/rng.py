"""Real randomness: from the operating system, or from a seed that replays a run."""

import random
import secrets


class SystemRng:
    """Not predictable: directory ids and session secrets may come from it."""

    __slots__ = ()

    def randrange(self, stop: int) -> int:
        return secrets.randbelow(stop)

    def randbytes(self, size: int) -> bytes:
        return secrets.token_bytes(size)


class SeededRng:
    """The same numbers for the same seed."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable is the point

    def randrange(self, stop: int) -> int:
        return self._random.randrange(stop)

    def randbytes(self, size: int) -> bytes:
        return self._random.randbytes(size)
