"""Who is in sync and what is committed, as a leader sees it."""

from barnabas_broker.partitions.leadership import Leadership
from barnabas_core.metadata.partition_image import PartitionImage

LAG_MS = 30_000


def image(
    isr: tuple[int, ...] = (1, 2, 3), partition_epoch: int = 0, leader_epoch: int = 0
) -> PartitionImage:
    return PartitionImage(
        replicas=(1, 2, 3),
        directories=(bytes(16),) * 3,
        isr=isr,
        removing_replicas=(),
        adding_replicas=(),
        eligible_leader_replicas=(),
        last_known_elr=(),
        leader=1,
        leader_recovery_state=0,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
    )


class Followers:
    """Streams that are open."""

    def wake(self) -> None:
        pass


def leader(
    isr: tuple[int, ...] = (1, 2, 3), *, start_offset: int = 0, connected: tuple[int, ...] = (2, 3)
) -> Leadership:
    leadership = Leadership(1, start_offset)
    leadership.update(image(isr), 0)
    for broker_id in connected:
        leadership.on_subscribed(broker_id, 100 + broker_id, start_offset)
        leadership.subscribers[broker_id] = Followers()
    return leadership


def decide(
    leadership: Leadership, log_end: int, high_watermark: int = 0, now_ms: int = 0
) -> tuple[int, ...] | None:
    return leadership.decide_isr((log_end, high_watermark), now_ms, LAG_MS, lambda _: True)


def test_what_everybody_in_sync_has_is_committed() -> None:
    leadership = leader()
    leadership.on_acked(2, 7, 10, 0)
    leadership.on_acked(3, 5, 10, 0)

    assert leadership.high_watermark(10, 2) == 5


def test_who_is_not_in_sync_holds_nobody_up() -> None:
    leadership = leader((1, 2))
    leadership.on_acked(2, 7, 10, 0)

    assert leadership.high_watermark(10, 2) == 7


def test_nothing_is_committed_while_too_few_are_in_sync() -> None:
    """KIP-966: the high watermark stands still below min.insync.replicas."""
    assert leader((1,)).high_watermark(10, 2) == -1
    assert leader((1,)).high_watermark(10, 1) == 10


def test_min_insync_replicas_above_the_replica_count_means_all_of_them() -> None:
    assert not leader().is_under_min_isr(5)


def test_a_replica_that_is_being_added_is_waited_for() -> None:
    """KIP-497: it may be in the ISR already, as far as the controller is concerned."""
    leadership = leader((1, 2))
    leadership.on_acked(2, 10, 10, 0)
    leadership.on_acked(3, 4, 10, 0)
    leadership.proposed = (1, 2, 3)

    assert leadership.high_watermark(10, 2) == 4


def test_a_replica_that_is_being_removed_is_waited_for_until_it_is() -> None:
    leadership = leader()
    leadership.on_acked(2, 10, 10, 0)
    leadership.on_acked(3, 4, 10, 0)
    leadership.proposed = (1, 2)

    assert leadership.high_watermark(10, 2) == 4
    leadership.decided((1, 2), 1)
    assert leadership.high_watermark(10, 2) == 10


def test_who_has_all_that_is_committed_joins() -> None:
    leadership = leader((1, 2))
    leadership.on_acked(3, 6, 10, 0)

    assert decide(leadership, 10, high_watermark=7) is None
    assert decide(leadership, 10, high_watermark=6) == (1, 2, 3)


def test_who_has_not_all_of_earlier_epochs_does_not_join() -> None:
    """Its high watermark may be low, but the log before this epoch is what was committed."""
    leadership = leader((1, 2), start_offset=8)
    leadership.on_acked(3, 7, 10, 0)
    assert decide(leadership, 10, high_watermark=3) is None

    leadership.on_acked(3, 8, 10, 0)
    assert decide(leadership, 10, high_watermark=3) == (1, 2, 3)


def test_who_is_fenced_or_leaving_does_not_join() -> None:
    leadership = leader((1, 2))
    leadership.on_acked(3, 10, 10, 0)

    assert leadership.decide_isr((10, 0), 0, LAG_MS, lambda _: False) is None


def test_who_has_no_stream_does_not_join() -> None:
    leadership = leader((1, 2))
    leadership.on_acked(3, 10, 10, 0)
    del leadership.subscribers[3]

    assert decide(leadership, 10) is None


def test_who_was_not_at_the_end_for_too_long_leaves() -> None:
    leadership = leader()
    leadership.on_acked(2, 10, 10, 0)

    assert decide(leadership, 10, now_ms=LAG_MS) is None
    assert decide(leadership, 10, now_ms=LAG_MS + 1) == (1, 2)


def test_an_idle_partition_costs_nothing_and_keeps_its_followers() -> None:
    leadership = leader()

    assert decide(leadership, 0, now_ms=10 * LAG_MS) is None


def test_who_is_at_the_end_but_has_no_stream_leaves_in_time() -> None:
    leadership = leader(connected=(2,))
    leadership.on_acked(3, 0, 0, 0)

    assert decide(leadership, 0, now_ms=LAG_MS + 1) == (1, 2)


def test_a_follower_under_load_is_caught_up_with_what_there_was() -> None:
    """It never reaches the end while records come, yet it is no slower than the wire."""
    leadership = leader()
    leadership.on_acked(2, 1_000, 1_000, 0)
    for second in range(1, 100):
        leadership.on_sent(3, 10 * second, 1_000 * second)
        leadership.on_acked(3, 10 * second, 10 * second + 5, 1_000 * second + 900)

    leadership.on_acked(2, 1_000, 1_000, 99_900)
    assert decide(leadership, 1_000, now_ms=99_900) is None


def test_one_proposal_at_a_time() -> None:
    leadership = leader((1, 2))
    leadership.on_acked(3, 10, 10, 0)
    leadership.proposed = (1,)

    assert decide(leadership, 10) is None


def test_older_news_changes_nothing() -> None:
    leadership = leader()
    leadership.decided((1, 2), 3)
    leadership.update(image((1, 2, 3), partition_epoch=2), 0)

    assert leadership.isr == (1, 2)


def test_a_proposal_that_nobody_answered_stands_until_there_is_news() -> None:
    leadership = leader((1, 2))
    leadership.proposed = (1, 2, 3)

    leadership.update(image((1, 2), partition_epoch=0), 0)
    assert leadership.proposed == (1, 2, 3)

    leadership.update(image((1, 2, 3), partition_epoch=1), 0)
    assert leadership.proposed is None


def test_a_refused_proposal_is_forgotten_unless_there_is_news() -> None:
    leadership = leader((1, 2))
    leadership.proposed = (1, 2, 3)
    leadership.refused(5)
    assert leadership.proposed is not None

    leadership.refused(0)
    assert leadership.proposed is None


def test_the_isr_keeps_the_order_of_the_replicas() -> None:
    leadership = leader((1, 3))
    leadership.on_acked(2, 5, 5, 0)
    leadership.on_acked(3, 5, 5, 0)

    assert decide(leadership, 5) == (1, 2, 3)


def test_who_is_no_replica_is_not_subscribed() -> None:
    assert not leader().on_subscribed(9, 1, 0)


def test_the_low_watermark_is_where_the_last_live_replica_starts() -> None:
    leadership = leader()
    leadership.on_log_start(2, 5)
    assert leadership.low_watermark(9) == 0

    leadership.on_log_start(3, 7)
    assert leadership.low_watermark(9) == 5

    del leadership.subscribers[2]
    assert leadership.low_watermark(9) == 7
