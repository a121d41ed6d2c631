"""What a cluster is given once: its id, its node ids, its first controllers."""

from barnabas_core.wire.primitive import uuid_from_text
from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.parsing import parse
from barnabas_operator.api.status import ClusterStatus, PoolStatus
from barnabas_operator.specs.config_maps import quorum_map
from barnabas_operator.specs.identity import directory_id, identity_of
from barnabas_operator.specs.node_ids import allocate_node_ids
from tests.support.blueprints import LARGE, SMALL, blueprint_of


def _zeros() -> bytes:
    return bytes(16)


def test_what_the_status_has_is_never_made_anew() -> None:
    status = ClusterStatus(
        cluster_id="kept",
        initial_controllers=(7,),
        pools=(PoolStatus(name="main", role="broker", first_node_id=5000),),
    )

    identity = identity_of(parse(ClusterSpec, LARGE), status, _zeros)

    assert identity.cluster_id == "kept"
    assert identity.initial_controllers == (7,)
    assert identity.first_node_ids["main"] == 5000


def test_the_first_controllers_are_those_of_the_spec_at_first_sight() -> None:
    large = identity_of(parse(ClusterSpec, LARGE), ClusterStatus(), _zeros)
    small = identity_of(parse(ClusterSpec, SMALL), ClusterStatus(), _zeros)

    assert large.initial_controllers == (100_000, 100_001, 100_002)
    assert small.initial_controllers == (0,)


def test_an_id_never_looks_like_an_option() -> None:
    drawn = iter([b"\xf8" + bytes(15), bytes(16)])

    identity = identity_of(parse(ClusterSpec, SMALL), ClusterStatus(), lambda: next(drawn))

    assert not identity.cluster_id.startswith("-")
    assert len(uuid_from_text(identity.cluster_id)) == 16


def test_a_range_is_never_given_twice() -> None:
    pools = [LARGE["brokers"][0] | {"name": name} for name in ("a", "b")]
    spec = parse(ClusterSpec, LARGE | {"brokers": pools})

    given = allocate_node_ids(spec, {"gone": 0, "b": 2000})

    assert given == {"gone": 0, "b": 2000, "a": 1000, "controllers": 100_000, "group": 200_000}


def test_directory_ids_differ_by_cluster_and_node_and_stay_the_same() -> None:
    ids = [directory_id(cluster, node) for cluster in ("a", "b") for node in range(200)]

    assert len(set(ids)) == 400
    assert ids[7] == directory_id("a", 7)
    assert not any(one.startswith("-") for one in ids)
    assert all(len(uuid_from_text(one)) == 16 for one in ids)


def test_the_first_voters_are_written_down_until_they_have_found_each_other() -> None:
    forming = quorum_map(blueprint_of(LARGE))["data"]["initial-controllers"]
    formed = quorum_map(blueprint_of(LARGE, quorum_formed=True))["data"]["initial-controllers"]

    assert forming.count(",") == 2
    assert forming.startswith("100000@demo-controllers-100000.demo-controllers.kafka.svc:9093:")
    assert formed == ""


def test_disks_of_a_deleted_cluster_are_taken_over_and_blank_ones_join() -> None:
    spec = LARGE | {"clusterId": "Abcdefghijklmnopqrstuv"}

    identity = identity_of(parse(ClusterSpec, spec), ClusterStatus(), _zeros)

    assert identity.cluster_id == "Abcdefghijklmnopqrstuv"
    assert quorum_map(blueprint_of(spec))["data"]["initial-controllers"] == ""


def test_more_controllers_do_not_change_the_first_voters() -> None:
    before = blueprint_of(LARGE)
    more = LARGE | {"controllers": LARGE["controllers"] | {"replicas": 5}}

    after = blueprint_of(more, initial_controllers=before.initial_controllers)

    assert quorum_map(after) == quorum_map(before)
