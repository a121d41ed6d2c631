"""What is deleted because nothing wants it, and what never is."""

from barnabas_operator.kube.client import Json
from barnabas_operator.kube.paths import path_of
from barnabas_operator.reconcile.children import Children
from barnabas_operator.reconcile.prune import superfluous
from barnabas_operator.specs.names import POOL_LABEL

OWNER = "uid-of-the-cluster"


def made(kind: str, name: str, pool: str | None = None, owner: str = OWNER) -> Json:
    labels = {} if pool is None else {POOL_LABEL: pool}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels}
    return {"kind": kind, "metadata": {**metadata, "ownerReferences": [{"uid": owner}]}}


def path(one: Json) -> str:
    return path_of(one["kind"], "space", one["metadata"]["name"])


def goes(*objects: Json, wanted: tuple[Json, ...] = (), empty: set[str] = set()) -> list[str]:  # noqa: B006 - never changed
    pod = {"spec": {"volumes": [{"configMap": {"name": "used"}}]}}
    children = Children({path(one): one for one in objects}, {"pod": pod}, {})
    found = superfluous(OWNER, {path(one) for one in wanted}, children, empty)
    return sorted(at.rpartition("/")[2] for at, _ in found)


def test_only_what_the_cluster_owns_goes() -> None:
    ours = made("ConfigMap", "old", "main")
    theirs = made("ConfigMap", "theirs", "main", owner="somebody")

    assert goes(ours, theirs) == ["old"]


def test_what_a_pod_uses_and_what_is_wanted_stay() -> None:
    wanted = made("ConfigMap", "new", "main")

    assert goes(wanted, made("ConfigMap", "used", "main"), wanted=(wanted,)) == []


def test_a_pool_goes_with_everything_only_when_it_is_empty() -> None:
    objects = [
        made("StatefulSet", "events-other", "other"),
        made("Service", "events-other", "other"),
        made("ConfigMap", "properties", "other"),
    ]

    assert goes(*objects) == ["properties"], "no pod uses it any more"
    assert goes(*objects, empty={"other"}) == ["events-other", "events-other", "properties"]
