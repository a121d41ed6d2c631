"""ClusterHealth on a coordinator: is it back after its restart, and which release is it?"""

from collections.abc import Callable
from typing import Any

from barnabas_coordinator.shard_service import ShardService
from barnabas_core.links.cluster_health import HealthCall, HealthService, answer_class, release
from barnabas_core.metadata.image import Image


class CoordinatorHealth:
    def __init__(
        self,
        shards: ShardService,
        image: Callable[[], Image],
        reason_not_ready: Callable[[], str | None],
    ) -> None:
        self._shards = shards
        self._image = image
        self._reason_not_ready = reason_not_ready
        self.service = HealthService(
            {HealthCall.POST_RESTART: self.post_restart, HealthCall.VERSIONS: self.versions}
        )

    async def post_restart(self, request: Any) -> Any:  # noqa: ANN401 - generated
        """Done: registered, not behind, and every shard that was leased to it is served.

        It does not have to have as many as before: brokers even that out in their own time, and
        shards that are with others are served there.
        """
        reason = self._reason_not_ready() or ""
        loading = self._shards.loading_count
        if not reason and loading:
            reason = f"{loading} of {self._shards.session_count} shards are loading"
        return answer_class(HealthCall.POST_RESTART)(is_done=not reason, reason=reason)

    async def versions(self, request: Any) -> Any:  # noqa: ANN401
        features = dict(self._image().features)
        return answer_class(HealthCall.VERSIONS)(
            release=release(), role="coordinator", features=features
        )
