"""What committed batches tell beside their metadata records."""

from barnabas_core.metadata.feed import parse_batches
from barnabas_core.records.quorum_control import quorum_batch
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.leader_change_message import LeaderChangeMessage


def test_a_control_batch_tells_the_kraft_version_that_holds_after_it() -> None:
    levels = [KRaftVersionRecord(kraft_version=level) for level in (0, 1)]
    batch = quorum_batch([LeaderChangeMessage(), *levels], leader_epoch=3, timestamp_ms=5)

    [parsed] = parse_batches(batch)

    assert parsed.kraft_version == 1
    assert (parsed.end_offset, parsed.values) == (3, [])


def test_a_control_batch_of_something_else_tells_no_kraft_version() -> None:
    [parsed] = parse_batches(quorum_batch([LeaderChangeMessage()], leader_epoch=3, timestamp_ms=5))

    assert parsed.kraft_version is None
