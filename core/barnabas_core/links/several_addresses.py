"""A name that stands for several nodes, as a headless Service of Kubernetes does for controllers.

One of them may be ourselves, which the system's resolver even puts first, and another may know as
little as we do. So we are left out, and every attempt begins with another node than the last one.
"""

import asyncio
import contextlib
import ipaddress
import itertools
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from barnabas_core.ports.link import Address

Resolve = Callable[[str], Iterable[str]]

_THREADS: Final = 2


class SeveralAddresses:
    def __init__(
        self, resolve: Resolve | None = None, is_own: Callable[[str], bool] | None = None
    ) -> None:
        self._resolve = resolve or resolved
        self._is_own = is_own or is_own_address
        self._attempts = itertools.count()
        # Of its own: a name server that is silent must not keep the disk's threads waiting.
        self._threads = ThreadPoolExecutor(_THREADS, "resolve")

    async def others(self, address: Address) -> list[Address]:
        """In the order to try; none where the name stands for one node, or cannot be resolved."""
        if _is_literal(address.host):
            return []
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self._resolve, address.host)
        found = sorted(set(answer))
        others = [one for one in found if not self._is_own(one)]
        if len(found) < 2 or not others:
            return []
        first = next(self._attempts) % len(others)
        return [Address(one, address.port) for one in (*others[first:], *others[:first])]


def is_own_address(host: str) -> bool:
    """Of an interface of this machine: nothing else can be bound to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


def _is_literal(host: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def resolved(host: str) -> Iterable[str]:
    """Version 4 only: gRPC takes lists of one version, and a name with both is mostly one node."""
    try:
        found = socket.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    return [str(place[0]) for *_, place in found]
