"""What groups do is counted where it is decided, once, and never for what was only loaded."""

from barnabas_coordinator.group.group_state import GroupType
from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from tests.support.consumer_lab import ConsumerLab
from tests.support.offsets_lab import OffsetsLab, image_of

AT = ("group", "cats", 0)
WEEK_MS = 7 * 86_400_000
INTERVAL_MS = 600_000


def test_offsets_that_are_committed_are_counted_in_transactions_too(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(Producer(1, 0), AT, 18)
    lab.commit(("group", "mice", 0), 1)  # there is no such topic

    counts = lab.machine.state.counts
    assert counts.commits == 2
    assert counts.requests == {ApiKey.OFFSET_COMMIT: 2, ApiKey.TXN_OFFSET_COMMIT: 1}


def test_what_expires_is_told_from_what_is_deleted(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("other", "cats", 0), 17)
    lab.commit(("third", "dogs", 0), 17)
    lab.ask(DeleteGroupsRequest(["group"]), DeleteGroupsResponse)
    lab.set_image(image_of(["cats"]))
    counts = lab.machine.state.counts
    assert (counts.deletions, counts.expirations) == (2, 0)

    lab.pass_time(WEEK_MS + INTERVAL_MS)

    assert (counts.deletions, counts.expirations) == (2, 1)


def test_loading_counts_nothing(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    assert lab.loaded().state.counts.commits == 0


def test_each_epoch_of_a_consumer_group_is_a_rebalance() -> None:
    lab = ConsumerLab({"t": 4})
    lab.beat("a")
    before = lab.machine.state.counts.rebalances[GroupType.CONSUMER]
    lab.beat("b")
    lab.beat("b", lab.group.members["b"].epoch)

    assert before == 1
    assert lab.machine.state.counts.rebalances[GroupType.CONSUMER] == 2
