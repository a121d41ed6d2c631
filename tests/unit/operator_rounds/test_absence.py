"""Why a pod is not there, read from the events of its StatefulSet."""

from barnabas_operator.kube.client import Json
from barnabas_operator.reconcile.absence import reasons_of_absence

NOW_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
QUOTA = 'pods "events-main-0" is forbidden: exceeded quota: small'
FAILED = f"create Pod events-main-0 in StatefulSet events-main failed error: {QUOTA}"
MADE = "create Pod events-main-0 in StatefulSet events-main successful"


def event(message: str, last: str, first: str = "2025-12-31T23:00:00Z") -> Json:
    return {"message": message, "firstTimestamp": first, "lastTimestamp": last}


def test_what_kubernetes_cannot_make_is_told_with_its_reason() -> None:
    made_before = event(MADE, "2025-12-31T23:58:00Z")
    failed = event(FAILED, "2025-12-31T23:59:00Z")

    assert reasons_of_absence([failed, made_before], NOW_MS) == {"events-main-0": QUOTA}


def test_a_claim_that_cannot_be_made_keeps_its_pod_away() -> None:
    message = (
        "create Claim data-events-main-0 Pod events-main-0 in StatefulSet events-main "
        "failed error: no storage"
    )

    found = reasons_of_absence([event(message, "2025-12-31T23:59:00Z")], NOW_MS)

    assert found == {"events-main-0": "no storage"}


def test_what_failed_before_the_pod_was_made_is_history() -> None:
    failed = event(FAILED, "2025-12-31T23:58:00Z")

    assert not reasons_of_absence([event(MADE, "2025-12-31T23:59:00Z"), failed], NOW_MS)
    assert not reasons_of_absence([event(MADE, "2025-12-31T23:58:00Z"), failed], NOW_MS)


def test_a_moment_is_not_told() -> None:
    """A claim on its way out holds its pod up until it is gone."""
    failed = event(FAILED, "2025-12-31T23:59:55Z", first="2025-12-31T23:59:51Z")

    assert not reasons_of_absence([failed], NOW_MS)


def test_similar_events_that_kubernetes_put_together_count() -> None:
    failed = event(f"(combined from similar events): {FAILED}", "2025-12-31T23:59:00Z")

    assert reasons_of_absence([failed], NOW_MS) == {"events-main-0": QUOTA}


def test_events_about_other_things_are_passed_over() -> None:
    other = event("delete Pod events-main-0 in StatefulSet events-main successful", "x")

    assert not reasons_of_absence([other, {"message": None}], NOW_MS)
