"""ApiVersions (key 18), served v0-v5.

v1 throttle time; v3 flexible, client software name and version, features; v4 features whose
lowest level is 0; v5 the cluster and node that the client believes to talk to (KIP-1242). The
response header is v0 at every version, and an unknown version is answered at v0 (see `dispatch`):
a client asks before it knows anything. Produce is announced from v0 on although served from v3
(librdkafka takes a higher minimum for a broker that cannot produce).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas_core.server.dispatch import Handler, RequestContext
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE_NAME_VERSION: Final = 3
_LOWEST_LEVEL_ZERO_VERSION: Final = 4
_SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@dataclass(frozen=True, slots=True)
class FeatureView:
    """The features of the cluster as ApiVersions shows them: level ranges by name."""

    supported: tuple[tuple[str, int, int], ...] = ()
    finalized: tuple[tuple[str, int, int], ...] = ()
    epoch: int = -1  # metadata offset at which `finalized` held; -1: unknown


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    cluster_id: str
    node_id: int


class ApiVersionsHandler:
    """Answers with the apis of `handlers` and with itself."""

    def __init__(
        self,
        handlers: Sequence[Handler],
        identity: NodeIdentity,
        features: Callable[[], FeatureView] = FeatureView,
    ) -> None:
        self._identity = identity
        self._features = features
        infos = [handler.info for handler in (*handlers, self.handler)]
        self._apis = [
            ApiVersion(info.key, info.advertised_min, info.advertised_max)
            for info in sorted(infos, key=lambda info: info.key)
        ]

    @property
    def handler(self) -> Handler:
        return Handler(ApiKey.API_VERSIONS, self.handle)

    def handle(self, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
        error = self._check(request, context.api_version)
        if error is not ErrorCode.NONE:
            return ApiVersionsResponse(error_code=error)
        context.peer.software_name = request.client_software_name
        context.peer.software_version = request.client_software_version
        view = self._features()
        # A v3 client refuses a supported feature that starts at level 0 (KAFKA-17011).
        level_min = 0 if context.api_version >= _LOWEST_LEVEL_ZERO_VERSION else 1
        return ApiVersionsResponse(
            api_keys=self._apis,
            supported_features=[
                SupportedFeatureKey(name, low, high)
                for name, low, high in view.supported
                if low >= level_min
            ],
            finalized_features_epoch=view.epoch,
            finalized_features=[
                FinalizedFeatureKey(name, high, low) for name, low, high in view.finalized
            ],
        )

    def _check(self, request: ApiVersionsRequest, version: int) -> ErrorCode:
        if version >= _SOFTWARE_NAME_VERSION and not (
            _SOFTWARE_NAME.fullmatch(request.client_software_name)
            and _SOFTWARE_NAME.fullmatch(request.client_software_version)
        ):
            return ErrorCode.INVALID_REQUEST
        # Both are left out by a client that does not know yet: its first connection.
        if request.cluster_id not in (None, self._identity.cluster_id):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        if request.node_id not in (-1, self._identity.node_id):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        return ErrorCode.NONE
