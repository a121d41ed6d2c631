"""A cluster at rest: nobody writes, and the operator has nothing to complain of."""

import json
import time

from tests.support.kafka_resource import KafkaResource
from tests.support.kind_lab import Place, note_figures

REST_S = 120.0


def test_a_stable_cluster_is_not_written_to(orders: KafkaResource) -> None:
    before = versions(orders)

    time.sleep(REST_S)

    assert versions(orders) == before


def test_the_operators_log_has_no_error_that_nobody_expects(
    orders: KafkaResource, operator: Place
) -> None:
    lines = operator.kubectl("logs", "deployment/barnabas-operator", "--tail=-1").splitlines()

    errors = [line for line in lines if is_unexpected(line)]

    note_figures("operator's log", {"lines": len(lines)})
    assert errors == []


def versions(orders: KafkaResource) -> dict[str, str]:
    """The resource version of everything that the operator writes; Leases are renewed."""
    kinds = "kafkaclusters,kafkatopics,statefulsets,services,configmaps,poddisruptionbudgets,pvc"
    found = orders.place.get(kinds)["items"]
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
        for one in found
    }


def is_unexpected(line: str) -> bool:
    if "Traceback" in line:
        return True
    try:
        level = str(json.loads(line).get("level", ""))
    except ValueError:
        return "ERROR" in line
    return level in ("error", "critical")
