"""The operator's actions on a running cluster, over links and with librdkafka's admin client."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas_core.ports.link import Address
from barnabas_operator.health import topic_admin
from barnabas_operator.health.cluster_port import ClusterView, Refused, Unavailable
from barnabas_operator.health.gateway import Gateway
from barnabas_operator.health.topic_admin import TopicAdmin
from barnabas_operator.plan.actions import (
    Cordon,
    ElectPreferred,
    Move,
    MoveLeaders,
    Reassign,
    Restart,
    SetDynamicConfig,
    UpdateFeatures,
)
from barnabas_operator.plan.observed import NodeState, Role
from barnabas_operator.plan.topic_state import (
    AddPartitions,
    AlterTopicConfig,
    CreateTopic,
    DeleteTopic,
    MoveReplicas,
)
from tests.integration.test_cluster_health import Cluster, in_cluster


def bootstrap_of(cluster: Cluster) -> str:
    return ",".join(f"127.0.0.1:{one.advertised[0].port}" for one in cluster.brokers.values())


def gateway_of(cluster: Cluster) -> Gateway:
    def address_of(node_id: int) -> Address:
        return cluster.brokers[node_id].internal_address

    topics = TopicAdmin(lambda: bootstrap_of(cluster))
    return Gateway(cluster.client(), cluster.cluster_id, address_of, lambda _: (), topics)


async def until(gateway: Gateway, holds: Callable[[ClusterView], bool]) -> ClusterView:
    while not holds(view := await gateway.view()):  # noqa: ASYNC110 - the caller has a deadline
        await asyncio.sleep(0.05)
    return view


def test_topics_are_made_changed_and_deleted_in_batches(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        gateway = gateway_of(cluster)
        names = [f"topic-{number}" for number in range(30)]

        refused = await gateway.carry_out_topics(
            [CreateTopic(name, 2, 3, {"retention.ms": "1000"}) for name in names]
            + [CreateTopic("too-wide", 1, 9, {})]
        )
        assert list(refused) == ["too-wide"]
        assert "INVALID_REPLICATION_FACTOR" in refused["too-wide"]
        view = await gateway.view()
        assert set(names) <= view.topics.keys()
        assert view.topics["topic-7"].config == {"retention.ms": "1000"}

        refused = await gateway.carry_out_topics(
            [
                AddPartitions("topic-1", 5),
                AlterTopicConfig("topic-2", {"retention.ms": None, "max.message.bytes": "2000"}),
                DeleteTopic("topic-3"),
                CreateTopic("topic-4", 1, 1, {}),
                MoveReplicas("topic-5", {0: (1,), 1: (2, 3)}),
            ]
        )

        assert refused == {}, "what is there already is as asked for"
        view = await until(gateway, lambda view: not any(one.is_moving for one in view.partitions))
        assert len(view.topics["topic-1"].partitions) == 5
        assert view.topics["topic-2"].config == {"max.message.bytes": "2000"}
        assert "topic-3" not in view.topics
        assert [one.replicas for one in view.topics["topic-5"].partitions] == [(1,), (2, 3)]

    in_cluster(tmp_path, scenario)


def test_other_listeners_are_found_by_another_client(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        servers = ["127.0.0.1:1"]
        admin = TopicAdmin(lambda: servers[0])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(topic_admin, "_TIMEOUT_S", 1.0)
            with suppress(Unavailable):
                await admin.carry_out([CreateTopic("t", 1, 1, {})])

        servers[0] = bootstrap_of(cluster)

        assert await admin.carry_out([CreateTopic("t", 1, 1, {})]) == {}
        await admin.close()

    in_cluster(tmp_path, scenario)


def test_leaders_move_away_and_back(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        gateway = gateway_of(cluster)
        await gateway.carry_out_topics([CreateTopic("t", 6, 3, {})])
        view = await gateway.view()
        led = [one for one in view.partitions if one.leader == 2]
        assert led

        await gateway.carry_out(MoveLeaders(2))
        view = await gateway.view()
        assert not [one for one in view.partitions if one.leader == 2]
        await gateway.carry_out(ElectPreferred(tuple(("t", one.number) for one in led)))

        view = await gateway.view()
        assert [one.number for one in view.partitions if one.leader == 2] == [
            one.number for one in led
        ]

    in_cluster(tmp_path, scenario)


def test_a_broker_is_emptied_and_takes_nothing_new(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        gateway = gateway_of(cluster)
        await gateway.carry_out_topics([CreateTopic("t", 3, 2, {})])
        await gateway.carry_out(Cordon(3, is_cordoned=True))
        view = await until(gateway, lambda view: view.brokers[3].is_cordoned)
        held = [one for one in view.partitions if 3 in one.replicas]

        await gateway.carry_out(Reassign(tuple(Move("t", one.number, (1, 2)) for one in held)))
        await gateway.carry_out_topics([CreateTopic("later", 3, 2, {})])
        view = await until(
            gateway, lambda view: not any(3 in one.replicas for one in view.partitions)
        )

        node = NodeState(3, "brokers", 3, frozenset({Role.BROKER}), "")
        while (standing := await gateway.standing(node)) is None or standing.replica_count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert standing.is_back
        await gateway.carry_out(Cordon(3, is_cordoned=False))
        await until(gateway, lambda view: not view.brokers[3].is_cordoned)

    in_cluster(tmp_path, scenario)


def test_properties_of_all_brokers_are_set_while_they_run(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        gateway = gateway_of(cluster)

        await gateway.carry_out(SetDynamicConfig({"log.retention.ms": "5000"}))
        assert (await gateway.view()).dynamic_config["log.retention.ms"] == "5000"
        await gateway.carry_out(SetDynamicConfig({"log.retention.ms": None}))
        assert "log.retention.ms" not in (await gateway.view()).dynamic_config

        with pytest.raises(Refused, match=r"log\.retention\.ms"):
            await gateway.carry_out(SetDynamicConfig({"log.retention.ms": "long"}))
        view = await gateway.view()
        await gateway.carry_out(UpdateFeatures(view.features))

    in_cluster(tmp_path, scenario)


def test_the_quorum_and_permits_are_told(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        gateway = gateway_of(cluster)
        await gateway.carry_out_topics([CreateTopic("t", 6, 3, {})])

        view = await gateway.view()
        assert [one.node_id for one in view.quorum.voters] == [1]
        assert view.quorum.leader_id == 1
        assert view.quorum.voters[0].is_caught_up
        assert view.quorum.observers == (), "brokers that follow the feed are none"
        assert (await gateway.permit(Restart(2, "", "", needs_permit=True))).lasts_ms
        refused = await gateway.permit(Restart(3, "", "", needs_permit=True))
        assert not refused.lasts_ms
        assert refused.reasons

    in_cluster(tmp_path, scenario)
