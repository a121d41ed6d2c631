"""Kubernetes' API in a few verbs on plain JSON: the official asynchronous client underneath.

Its models are not used: what the operator applies are manifests made of dictionaries, and what it
reads are a few fields of each object.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Self
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client.api_client import ApiClient

Json = dict[str, Any]
FIELD_MANAGER: Final = "barnabas-operator"
_TIMEOUT_S: Final = 30.0
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_JSON: Final = "application/json"
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_GONE: Final = (404, 409)


class KubeError(Exception):
    """Kubernetes did not do it: `status` is HTTP's, 0 if there was no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_refusal(self) -> bool:
        """What was asked for is not allowed or makes no sense: asking again will not help."""
        return self.status in (400, 403, 405, 422)


class Kube:
    def __init__(self, api: ApiClient, may_write: Callable[[], bool] = lambda: True) -> None:
        self._api = api
        self._may_write = may_write

    def while_allowed(self, may_write: Callable[[], bool]) -> Self:
        """The same, but nothing is written from the moment on at which that says no.

        Asked before every single write: a process that was frozen in the middle of a round goes on
        with it when it wakes, and what it saw is old by then.
        """
        return type(self)(self._api, may_write)

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]

    async def get(self, path: str) -> Json | None:
        """None if there is no such object."""
        try:
            return await self._call("GET", path)
        except KubeError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    async def list(self, path: str, *, labels: str = "", fields: str = "") -> list[Json]:
        """All of them, page by page."""
        found: list[Json] = []
        query = {"limit": "500"}
        query |= {"labelSelector": labels} if labels else {}
        query |= {"fieldSelector": fields} if fields else {}
        while True:
            page = await self._call("GET", f"{path}?{urlencode(query)}")
            found += page.get("items") or []
            token = page.get("metadata", {}).get("continue")
            if not token:
                return found
            query["continue"] = token

    async def peek(self, path: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        """Whether a collection could be listed."""
        await self._call("GET", f"{path}?limit=1", timeout_s=timeout_s)

    async def apply(self, path: str, manifest: Mapping[str, Any]) -> Json:
        """Server-side: the fields that it names are the operator's, whoever had them before."""
        query = urlencode({"fieldManager": FIELD_MANAGER, "force": "true"})
        return await self._call("PATCH", f"{path}?{query}", manifest, _APPLY)

    async def create(self, path: str, manifest: Mapping[str, Any]) -> Json:
        return await self._call("POST", f"{path}?fieldManager={FIELD_MANAGER}", manifest)

    async def replace(self, path: str, manifest: Mapping[str, Any]) -> Json:
        """Refused with 409 if its resourceVersion is no longer the current one."""
        return await self._call("PUT", f"{path}?fieldManager={FIELD_MANAGER}", manifest)

    async def merge(self, path: str, change: Mapping[str, Any]) -> Json:
        query = urlencode({"fieldManager": FIELD_MANAGER})
        return await self._call("PATCH", f"{path}?{query}", change, _MERGE)

    async def delete(
        self,
        path: str,
        uid: str,
        *,
        orphans: bool = False,
        grace_s: int | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> bool:
        """Exactly this object; False if it is gone, or if another one has its name by now."""
        body: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        body["propagationPolicy"] = "Orphan" if orphans else "Background"
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        try:
            await self._call("DELETE", path, body, timeout_s=timeout_s)
        except KubeError as error:
            if error.status in _GONE:
                return False
            raise
        return True

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> Json:
        if method != "GET" and not self._may_write():
            raise KubeError(_CONFLICT, f"{method} {path}: another operator may lead by now")
        headers = {"Accept": _JSON, "Content-Type": content_type}
        made = await self._api.param_serialize(
            method, path, header_params=headers, body=body, auth_settings=["BearerToken"]
        )
        try:
            answer = await self._api.call_api(*made, _request_timeout=timeout_s)
            content = await answer.read()  # type: ignore[no-untyped-call]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeError(0, f"{method} {path}: {error!r}") from error
        return _read(f"{method} {path}", answer.status, content)


def _read(what: str, status: int, content: bytes) -> Json:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise KubeError(status, f"{what}: {status}, and no object: {content[:200]!r}")
    if status >= 300:
        raise KubeError(status, f"{what}: {found.get('message', status)}")
    return found
