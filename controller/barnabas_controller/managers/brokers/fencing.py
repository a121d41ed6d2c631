"""Brokers that were not heard of for a session, fenced one by one.

One broker a decision: the next one is chosen among what the first has left.
"""

from barnabas_controller.managers.brokers.registration_change import fenced
from barnabas_controller.managers.partitions.broker_changes import records_for_fencing
from barnabas_controller.managers.view import Result, View
from barnabas_core.metadata.cluster_image import BrokerImage


def decide_fence_stale_brokers(view: View) -> Result[int | None]:
    """The broker it dealt with; None if every session is good.

    A broker of very many partitions loses leadership and ISRs over several decisions. It stays
    stale, and so comes up again, until its registration says that it is fenced.
    """
    broker = _first_stale(view)
    if broker is None:
        return Result((), None)
    records = [*records_for_fencing(view, broker.id), fenced(broker)]
    room = view.settings.max_records_per_decision
    if len(records) <= room:
        view.liveness.forget(broker.id)
    return Result(records[:room], broker.id)


def _first_stale(view: View) -> BrokerImage | None:
    """Sessions of brokers that are fenced or gone are dropped on the way."""
    for broker_id in view.liveness.stale(view.monotonic_ms):
        broker = view.image.cluster.brokers.get(broker_id)
        epoch = view.liveness.sessions[broker_id].broker_epoch
        if broker is not None and broker.epoch == epoch and not broker.is_fenced:
            return broker
        view.liveness.forget(broker_id)
    return None
