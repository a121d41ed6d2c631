"""The bytes between follower and leader."""

import pytest

from barnabas_broker.replication.message import (
    Ack,
    BadMessage,
    State,
    Subscribe,
    Subscribed,
    Update,
    decode_results,
    decode_states,
    decode_update,
    encode_results,
    encode_states,
    encode_update,
)

UPDATE = Update(
    7,
    [Subscribe(1, bytes(range(16)), 3, 4, 5, 6), Subscribe(2, bytes(16), 0, 0, 2**40, -1)],
    [9, 10],
    [Ack(1, 5, 0), Ack(2, 2**50, 7)],
)


@pytest.mark.parametrize("update", [UPDATE, Update(-1)])
def test_an_update_comes_as_it_was_sent(update: Update) -> None:
    decoded = decode_update(encode_update(update))

    assert decoded == Update(
        update.broker_epoch, list(update.subscribe), list(update.cancel), list(update.acks)
    )


def test_results_and_states_come_as_they_were_sent() -> None:
    results = [Subscribed(1, 0), Subscribed(2, 1, 3, 4, 5, 2**40)]
    states = [State(1, 2, 3), State(2**31, 2**60, 0)]

    assert decode_results(encode_results(results)) == results
    assert decode_states(encode_states(states)) == states


@pytest.mark.parametrize("body", [b"", b"short", encode_update(UPDATE)[:-1], bytes(19) + b"\1"])
def test_what_is_no_update_is_refused(body: bytes) -> None:
    with pytest.raises(BadMessage):
        decode_update(body)


def test_a_torn_list_is_refused() -> None:
    with pytest.raises(BadMessage):
        decode_states(bytes(21))
    with pytest.raises(BadMessage):
        decode_results(bytes(1))
