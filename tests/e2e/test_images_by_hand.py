"""The images alone, in StatefulSets written by hand: what they can do without the operator."""

from tests.support.kind_lab import Place, expect_nothing_lost, note_figures

# A leader that is told to stop hands over; one that is killed is missed after its session.
GAP_OF_A_RESTART_MS = 15_000
GAP_OF_A_KILL_MS = 45_000


def test_controllers_and_brokers_come_up_in_three_zones(by_hand: Place) -> None:
    for app in ("controller", "broker"):
        pods = by_hand.get("pods", "-l", f"app={app}")["items"]
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 3


def test_what_a_client_pod_writes_a_group_reads(by_hand: Place) -> None:
    arguments = (by_hand.bootstrap, "greetings", "1000", "--create=3,3")

    verdict = by_hand.run_client("round-trip", "round_trip.py", *arguments)

    assert verdict["read"] == 1000


def test_brokers_restarted_one_by_one_under_load_lose_nothing(by_hand: Place) -> None:
    with by_hand.numbered_load("restarted") as load:
        for number in range(3):
            by_hand.replace_pod(f"broker-{number}")
            load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_RESTART_MS)


def test_controllers_restarted_one_by_one_under_load_lose_nothing(by_hand: Place) -> None:
    with by_hand.numbered_load("led-by-others") as load:
        for number in range(3):
            by_hand.replace_pod(f"controller-{number}")
            load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_RESTART_MS)


def test_a_broker_that_is_killed_under_load_loses_nothing(by_hand: Place) -> None:
    with by_hand.numbered_load("killed") as load:
        by_hand.replace_pod("broker-1", "--force", "--grace-period=0")
        load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_KILL_MS)


def test_groups_go_on_committing_when_their_coordinator_is_killed(by_hand: Place) -> None:
    server = f"--bootstrap={by_hand.bootstrap}"
    reader = ("group_load.py", "--topic=grouped", server, "--group=readers")

    with (
        by_hand.numbered_load("grouped"),
        by_hand.load("readers", *reader, key="commits") as group,
    ):
        by_hand.replace_pod("coordinator-0", "--force", "--grace-period=0")
        group.wait_progress("commits", 50)

    note_figures("commits", group.verdict)
    assert group.verdict["went_back"] == 0
    assert group.verdict["lost_commits"] == 0
