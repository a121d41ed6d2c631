"""ClusterHealth on a controller: the questions of an operator, answered on the committed image."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from barnabas_controller.coordinator_membership import CoordinatorMembership
from barnabas_controller.engine import Engine
from barnabas_controller.inventory import take_inventory
from barnabas_controller.link_services import CallService, FindActive
from barnabas_controller.managers.coordinator_permits import (
    Candidate,
    CoordinatorPermits,
    decide_coordinator_restart,
)
from barnabas_controller.managers.drain import Drained, decide_drain
from barnabas_controller.managers.permits import (
    PERMIT_MS,
    Permits,
    RestartDecision,
    VoterHealth,
    decide_restart,
)
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Context, Result, View
from barnabas_controller.quorum.driver import QuorumDriver
from barnabas_core.links.cluster_health import (
    LISTED_MAX,
    HealthCall,
    HealthService,
    answer_class,
    release,
)
from barnabas_core.metadata.topics_image import TopicsImage
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Call, NotActive

T = TypeVar("T")
_CAUGHT_UP_MS: Final = 5_000
"""A voter that had everything this long ago, or since, counts as caught up."""
_FIRST_EPOCH: Final = 1
_PRINCIPAL: Final = "User:operator"
_NO_PERMITS_YET: Final = "a new controller waits for the permits of the one before it to end"


@dataclass(frozen=True, slots=True)
class HealthParts:
    engine: Engine
    driver: QuorumDriver
    clock: Clock
    find_active: FindActive
    coordinators: CoordinatorMembership


class ControllerHealth:
    def __init__(self, on: HealthParts, admin: CallService) -> None:
        self._engine = on.engine
        self._driver = on.driver
        self._clock = on.clock
        self._find_active = on.find_active
        self._coordinators = on.coordinators
        self._admin = admin
        self._permits = Permits(on.clock.monotonic_ms())
        self._coordinator_permits = CoordinatorPermits()
        self.service = HealthService(
            {
                HealthCall.PRE_RESTART: self.pre_restart,
                HealthCall.POST_RESTART: self.post_restart,
                HealthCall.QUORUM: self.quorum,
                HealthCall.DRAIN: self.drain,
                HealthCall.VERSIONS: self.versions,
                HealthCall.ADMIN: self.admin,
                HealthCall.INVENTORY: self.inventory,
            }
        )

    def on_reign(self) -> None:
        """It has just become active."""
        now_ms = self._clock.monotonic_ms()
        # In the first epoch of all nobody was active before it.
        is_first = self._engine.epoch <= _FIRST_EPOCH
        self._permits = Permits(now_ms - PERMIT_MS if is_first else now_ms)
        self._coordinator_permits = CoordinatorPermits()

    # --- the active controller

    async def pre_restart(self, request: Any) -> Any:  # noqa: ANN401 - generated
        if request.coordinator_role:
            return self._pre_restart_coordinator(request)
        permits, node_id = self._permits, int(request.node_id)

        def decide(view: View) -> Result[tuple[RestartDecision, int]]:
            decision = decide_restart(view, node_id, self._voters(), permits)
            wait_ms = permits.wait_ms(view.monotonic_ms)
            if not (request.wants_permit and decision.is_safe) or wait_ms:
                return Result((), (decision, 0))
            return Result((), (decision, permits.grant(view, node_id)))

        # What is pending is waited for: the answer rests on what is committed.
        decision, permit_ms = await self._submit(decide)
        reasons = list(decision.reasons)
        if request.wants_permit and decision.is_safe and not permit_ms:
            reasons.append(_NO_PERMITS_YET)
        topics, risk = self._engine.committed.topics, decision.risk
        return answer_class(HealthCall.PRE_RESTART)(
            is_safe=decision.is_safe,
            permit_ms=permit_ms,
            reasons=reasons,
            offline=_partitions(topics, risk.offline),
            under_min_isr=_partitions(topics, risk.under_min_isr),
            at_min_isr=_partitions(topics, risk.at_min_isr),
            unavoidable=_partitions(topics, risk.unavoidable),
            permitted=decision.permitted,
        )

    def _pre_restart_coordinator(self, request: Any) -> Any:  # noqa: ANN401
        liveness, permits = self._coordinators.liveness, self._coordinator_permits
        if liveness is None:
            raise NotActive(*self._find_active())
        now_ms = self._clock.monotonic_ms()
        who = Candidate((request.coordinator_role, request.node_id), request.peer_count)
        decision = decide_coordinator_restart(liveness, who, permits, now_ms)
        reasons, permit_ms = list(decision.reasons), 0
        if request.wants_permit and decision.is_safe:
            if self._permits.wait_ms(now_ms):
                reasons.append(_NO_PERMITS_YET)
            else:
                permit_ms = permits.grant(liveness, who.key, now_ms)
        return answer_class(HealthCall.PRE_RESTART)(
            is_safe=decision.is_safe,
            permit_ms=permit_ms,
            reasons=reasons,
            permitted=decision.permitted,
        )

    async def drain(self, request: Any) -> Any:  # noqa: ANN401
        drained: Drained = await self._submit(lambda view: decide_drain(view, request.node_id))
        return answer_class(HealthCall.DRAIN)(
            moved_count=drained.moved_count,
            left=_partitions(self._engine.committed.topics, drained.left),
        )

    async def quorum(self, request: Any) -> Any:  # noqa: ANN401
        description = self._driver.describe()
        if description is None:
            raise NotActive(*self._find_active())
        health, end_offset = self._voters(), self._driver.end_offset
        return answer_class(HealthCall.QUORUM)(
            leader_id=description.leader_id,
            epoch=description.epoch,
            high_watermark=description.high_watermark,
            voters=[
                {
                    "node_id": one.replica.node_id,
                    "lag": max(end_offset - one.end_offset, 0) if one.end_offset >= 0 else -1,
                    "is_caught_up": one.replica.node_id in health.caught_up,
                }
                for one in description.voters
            ],
            is_healthy=health.is_healthy,
            survives_loss=health.survives_loss,
            **self._live_coordinators(),
        )

    def _live_coordinators(self) -> dict[str, Any]:
        liveness = self._coordinators.liveness
        if liveness is None:
            return {}
        return {
            "coordinators": [
                {
                    "role": role,
                    "node_id": node_id,
                    "address": str(session.registration.address),
                    "rack": session.registration.rack or "",
                    "session_count": session.heartbeat.session_count,
                    "is_draining": session.heartbeat.is_draining,
                }
                for (role, node_id), session in sorted(liveness.sessions.items())
            ],
            "may_miss_coordinators": liveness.live().is_partial,
        }

    async def inventory(self, request: Any) -> Any:  # noqa: ANN401
        # What is pending is waited for: whoever plans a removal must not miss a creation.
        return await self._submit(
            lambda view: Result((), take_inventory(view, request.after_topic))
        )

    async def admin(self, request: Any) -> Any:  # noqa: ANN401
        call = Call(request.api_key, request.api_version, request.body)
        return bytes(await self._admin.answer(call, Context(call.api_version, _PRINCIPAL)))

    async def _submit(self, decide: Callable[[View], Result[T]]) -> T:
        try:
            return await self._engine.submit(decide)
        except NotActive as error:
            raise NotActive(*self._find_active()) from error

    def _voters(self) -> VoterHealth:
        description = self._driver.describe()
        if description is None:
            raise NotActive(*self._find_active())
        oldest_ms = self._clock.now_ms() - _CAUGHT_UP_MS
        caught_up = [one for one in description.voters if one.last_caught_up_at_ms >= oldest_ms]
        return VoterHealth(
            tuple(int(one.replica.node_id) for one in description.voters),
            tuple(int(one.replica.node_id) for one in caught_up),
        )

    # --- any controller

    async def post_restart(self, request: Any) -> Any:  # noqa: ANN401
        leader_id = self._driver.leader.leader_id
        lag = max(self._driver.high_watermark - 1 - self._engine.committed.provenance.offset, 0)
        reason = ""
        if leader_id is None:
            reason = "the quorum has no leader"
        elif lag:
            reason = f"{lag} metadata records behind"
        return answer_class(HealthCall.POST_RESTART)(
            is_done=not reason, reason=reason, metadata_lag=lag
        )

    async def versions(self, request: Any) -> Any:  # noqa: ANN401
        features = dict(self._engine.committed.features)
        return answer_class(HealthCall.VERSIONS)(
            release=release(), role="controller", features=features
        )


def _partitions(topics: TopicsImage, keys: Sequence[PartitionKey]) -> Any:  # noqa: ANN401
    first = []
    for key in keys[:LISTED_MAX]:
        topic = topics.get(key.topic_id)
        first.append({"topic": "" if topic is None else topic.name, "number": key.partition})
    return {"count": len(keys), "first": first}
