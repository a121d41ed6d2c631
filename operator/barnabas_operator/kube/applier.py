"""Manifests that Kubernetes has already are not written again.

Whether it has one is not told by comparing: Kubernetes fills in defaults and rewrites amounts.
Instead it is remembered which version of an object our last apply led to. Objects with a generation
are told apart by it, as their status changes all the time; the others by their resource version.
A new operator applies everything once; where nothing differs, Kubernetes writes nothing either.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import manifest_path

_NOT_IN_SCHEMA: Final = 500
"""With which Kubernetes answers an apply whose fields it does not know."""


@dataclass(frozen=True, slots=True)
class _Applied:
    digest: str
    version: str


class Applier:
    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._applied: dict[str, _Applied] = {}
        self.write_count = 0

    async def apply(
        self, manifests: Iterable[Mapping[str, Any]], present: Mapping[str, Json]
    ) -> list[str]:
        """What was refused, and why. `present`: by path, what was read in this round."""
        refused = []
        for manifest in manifests:
            path = manifest_path(manifest)
            wanted = digest_of(manifest)
            live = present.get(path)
            if live is not None and self._applied.get(path) == _Applied(wanted, _version(live)):
                continue
            try:
                made = await self._kube.apply(path, manifest)
            except KubeError as error:
                if not (error.is_refusal or error.status == _NOT_IN_SCHEMA):
                    raise
                refused.append(f"{manifest['kind']} {manifest['metadata']['name']}: {error}")
                continue
            self._applied[path] = _Applied(wanted, _version(made))
            self.write_count += 1
        return refused

    def forget(self, path: str) -> None:
        self._applied.pop(path, None)


def digest_of(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _version(live: Json) -> str:
    metadata = live["metadata"]
    if metadata.get("generation"):
        return f"{metadata['uid']}/{metadata['generation']}"
    return f"{metadata['uid']}/{metadata['resourceVersion']}"
