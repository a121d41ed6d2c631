"""The bytes between the owner of a shard and its coordinator."""

import pytest

from barnabas_core.links.shard_message import (
    BadShardMessage,
    Close,
    Committed,
    Epoch,
    Item,
    Load,
    Lost,
    Open,
    Outcome,
    ShardAnswer,
    ShardRequest,
    Writable,
    decode_feed,
    decode_outcome,
    decode_session,
    encode_feed,
    encode_outcome,
    encode_session,
)

ITEMS: list[Item] = [
    Open(1, 2, 3, 4, 5, 6),
    Writable(1, False),
    Writable(1, True),
    Epoch(1, 7),
    Load(1, b"batches"),
    Load(1, b""),
    ShardRequest(1, 9, 8, 7, 6, "client", "/host", "User:é", "PLAINTEXT", b"body"),
    Lost(1, 9),
    Committed(1, 2**40),
    Close(1),
]
ANSWERS = [ShardAnswer(1, -1, b"one"), ShardAnswer(2, 44, b""), ShardAnswer(3, -1, b"", 15)]
OUTCOME = Outcome(3, 44, b"batch", ANSWERS)


def test_a_feed_comes_as_it_was_sent() -> None:
    assert [tuple(it) for it in decode_feed(encode_feed(ITEMS))] == [tuple(it) for it in ITEMS]
    assert [type(it) for it in decode_feed(encode_feed(ITEMS))] == [type(it) for it in ITEMS]


def test_an_outcome_comes_as_it_was_sent() -> None:
    assert decode_outcome(encode_outcome(OUTCOME)) == OUTCOME
    assert decode_session(encode_session(17)) == 17


@pytest.mark.parametrize("cut", [1, 5, 12, 30, 60])
def test_what_is_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(BadShardMessage):
        decode_feed(encode_feed(ITEMS)[:-cut])
    with pytest.raises(BadShardMessage):
        decode_outcome(encode_outcome(OUTCOME)[:-cut])


def test_an_item_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BadShardMessage):
        decode_feed(b"\xff" + bytes(8))
    with pytest.raises(BadShardMessage):
        decode_session(b"")
