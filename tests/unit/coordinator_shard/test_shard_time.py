"""A shard's time stands still while nothing can be written."""

from barnabas_coordinator.shard.shard_time import ShardTime


def test_it_goes_as_the_clock_does() -> None:
    assert ShardTime().at(1_234) == 1_234


def test_it_stands_from_the_moment_at_which_it_was_stopped() -> None:
    time = ShardTime()
    time.stop(1_000)
    time.stop(2_000)

    assert time.stands
    assert time.at(9_000) == 1_000


def test_it_goes_on_from_where_it_stood() -> None:
    time = ShardTime()
    time.stop(1_000)
    time.go_on(4_000)
    time.stop(6_000)
    time.go_on(7_000)
    time.go_on(8_000)

    assert not time.stands
    assert time.at(10_000) == 6_000
