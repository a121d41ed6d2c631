"""Where a follower cuts its log (KIP-279)."""

from barnabas_broker.replication.truncation import truncation_offset
from barnabas_core.log.epochs.leader_epoch import LeaderEpochCache


def test_the_leader_ends_an_epoch_earlier() -> None:
    epochs = LeaderEpochCache([(1, 0), (2, 10)])

    assert truncation_offset(epochs, 20, 2, 15) == 15


def test_the_leader_goes_on_in_an_epoch_that_the_follower_left() -> None:
    epochs = LeaderEpochCache([(1, 0), (2, 10), (3, 12)])

    assert truncation_offset(epochs, 20, 2, 18) == 12


def test_an_epoch_that_the_follower_never_had_takes_it_back_to_the_one_before() -> None:
    """It asks again from there: the two may still differ below."""
    epochs = LeaderEpochCache([(1, 0), (4, 10)])

    assert truncation_offset(epochs, 20, 3, 15) == 10


def test_without_any_epoch_of_its_own_it_goes_to_where_the_leader_ends() -> None:
    assert truncation_offset(LeaderEpochCache(), 20, 3, 15) == 15
    assert truncation_offset(LeaderEpochCache(), 9, 3, 15) == 9
