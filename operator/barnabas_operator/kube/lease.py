"""Of several operators one acts: whoever holds the lease (coordination.k8s.io).

A lease that was not renewed for its length may be taken. Who holds it stops acting before that:
`is_held` is false from `renew_deadline` on, counted from the moment *before* the renewal that
succeeded. Each looks at its own clock alone, and at whether the lease changed, never at the time
that another wrote.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from barnabas_core.ports import Clock
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection, path_of

_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    lasts_ms: int = 15_000
    renew_deadline_ms: int = 10_000
    retry_ms: int = 2_000


_TIMES: Final = LeaseTimes()


class Lease:
    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        place: tuple[str, str],
        holder: str,
        times: LeaseTimes = _TIMES,
    ) -> None:
        """`place`: its namespace and its name."""
        self._kube = kube
        self._clock = clock
        self._namespace, self._name = place
        self._holder = holder
        self._times = times
        self._renewed_at_ms: int | None = None
        self._seen: tuple[str, int] | None = None
        """(version of the lease that another holds, when it was first seen)."""

    @property
    def is_held(self) -> bool:
        if self._renewed_at_ms is None:
            return False
        return self._clock.monotonic_ms() < self._renewed_at_ms + self._times.renew_deadline_ms

    async def acquire(self) -> None:
        """Waits until it is ours."""
        while not await self.try_once():  # noqa: ASYNC110 - nobody tells when it is free
            await asyncio.sleep(self._times.retry_ms / 1000)

    async def keep(self) -> None:
        """Renews it, and returns when it is lost."""
        while self.is_held:
            await asyncio.sleep(self._times.retry_ms / 1000)
            await self.try_once()

    async def release(self) -> None:
        """Another may have it at once. Where that fails, the lease ends by itself.

        With the last rights of an installation that is taken away, for one, goes this right, too.
        """
        if not self.is_held:
            return
        self._renewed_at_ms = None
        try:
            lease = await self._read()
            if lease is not None and lease.get("spec", {}).get("holderIdentity") == self._holder:
                lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._write(lease)
        except (KubeError, TimeoutError):
            pass

    async def try_once(self) -> bool:
        began_at_ms = self._clock.monotonic_ms()
        try:
            lease = await self._read()
            if lease is not None and not self._is_free(lease):
                return False
            wrote = await self._write(self._ours(lease))
        except (KubeError, TimeoutError):
            return False
        if wrote:
            self._renewed_at_ms = began_at_ms
        return wrote

    async def _read(self) -> Json | None:
        async with asyncio.timeout(self._times.renew_deadline_ms / 1000):
            return await self._kube.get(path_of("Lease", self._namespace, self._name))

    async def _write(self, lease: Json) -> bool:
        try:
            async with asyncio.timeout(self._times.renew_deadline_ms / 1000):
                if "resourceVersion" in lease["metadata"]:
                    path = path_of("Lease", self._namespace, self._name)
                    await self._kube.replace(path, lease)
                else:
                    await self._kube.create(collection("Lease", self._namespace), lease)
        except TimeoutError:
            return False
        except KubeError as error:
            if error.status != _CONFLICT:
                raise
            return False
        return True

    def _is_free(self, lease: Json) -> bool:
        spec: dict[str, Any] = lease.get("spec") or {}
        if spec.get("holderIdentity") in (None, "", self._holder):
            return True
        version = lease["metadata"]["resourceVersion"]
        now_ms = self._clock.monotonic_ms()
        if self._seen is None or self._seen[0] != version:
            self._seen = version, now_ms
        lasts_ms = int(spec.get("leaseDurationSeconds") or 0) * 1000
        return now_ms >= self._seen[1] + max(lasts_ms, self._times.lasts_ms)

    def _ours(self, lease: Json | None) -> Json:
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        written = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = (lease or {}).get("spec") or {}
        is_ours = before.get("holderIdentity") == self._holder
        transitions = int(before.get("leaseTransitions") or 0)
        spec = {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": self._times.lasts_ms // 1000,
            "acquireTime": before.get("acquireTime") if is_ours else written,
            "renewTime": written,
            "leaseTransitions": transitions if is_ours or lease is None else transitions + 1,
        }
        metadata = lease["metadata"] if lease is not None else {
            "name": self._name, "namespace": self._namespace,
        }  # fmt: skip
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": spec,
        }
