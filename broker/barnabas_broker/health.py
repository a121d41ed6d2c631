"""ClusterHealth on a broker: is it back after its restart, and which release is it?"""

from collections.abc import Callable
from typing import Any

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.lifecycle import Lifecycle, Standing
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_core.links.cluster_health import HealthCall, HealthService, answer_class, release
from barnabas_core.links.metadata_feed import MetadataFeed


class BrokerHealth:
    def __init__(
        self,
        view: ClusterView,
        feed: MetadataFeed,
        applier: MetadataApplier,
        lifecycle: Callable[[], Lifecycle | None],
    ) -> None:
        self._view = view
        self._feed = feed
        self._applier = applier
        self._lifecycle = lifecycle
        self.service = HealthService(
            {HealthCall.POST_RESTART: self.post_restart, HealthCall.VERSIONS: self.versions}
        )

    @property
    def metadata_lag(self) -> int:
        """Records that it knows to be committed and has not applied."""
        return max(self._feed.high_watermark - 1 - self._applier.applied_offset, 0)

    @property
    def applied_offset(self) -> int:
        return self._applier.applied_offset

    @property
    def is_fenced(self) -> bool:
        lifecycle = self._lifecycle()
        return lifecycle is None or lifecycle.is_fenced

    def reason_not_ready(self) -> str | None:
        """Why clients should not be sent here; None: they may."""
        lifecycle = self._lifecycle()
        if lifecycle is None or lifecycle.standing is Standing.REGISTERING:
            return "not registered yet"
        if lifecycle.standing in (Standing.LEAVING, Standing.LEFT):
            return "on its way out"
        if lag := self.metadata_lag:
            return f"{lag} metadata records behind"
        return "fenced" if lifecycle.is_fenced else None

    async def post_restart(self, request: Any) -> Any:  # noqa: ANN401 - generated
        """Done: ready for clients, and in the ISR of every partition that it keeps."""
        replica_count, in_sync_count = self._replicas()
        reason = self.reason_not_ready() or ""
        if not reason and in_sync_count < replica_count:
            reason = f"{replica_count - in_sync_count} replicas are not in sync"
        return answer_class(HealthCall.POST_RESTART)(
            is_done=not reason,
            reason=reason,
            replica_count=replica_count,
            in_sync_count=in_sync_count,
            metadata_lag=self.metadata_lag,
        )

    def _replicas(self) -> tuple[int, int]:
        """(all, those in sync), as the controller has decided."""
        node_id = self._view.node_id
        replica_count = in_sync_count = 0
        for topic in self._view.topics():
            for partition in topic.partitions.values():
                replica_count += node_id in partition.replicas
                in_sync_count += node_id in partition.isr
        return replica_count, in_sync_count

    async def versions(self, request: Any) -> Any:  # noqa: ANN401
        features = dict(self._view.image.features)
        return answer_class(HealthCall.VERSIONS)(
            release=release(), role="broker", features=features
        )
