"""Randomness, passed in."""

from typing import Protocol


class Rng(Protocol):
    def randrange(self, stop: int) -> int: ...

    def randbytes(self, size: int) -> bytes: ...
