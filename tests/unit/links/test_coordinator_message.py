"""What is told of coordinators, as bytes."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.links.coordinator_message import (
    HEARTBEAT,
    REGISTER,
    ApiRange,
    BadCoordinatorMessage,
    Heartbeat,
    LiveCoordinator,
    LiveList,
    Registration,
    Standing,
    Verdict,
    decode_heartbeat,
    decode_live,
    decode_registration,
    decode_verdict,
    encode_heartbeat,
    encode_live,
    encode_registration,
    encode_verdict,
)
from barnabas_core.ports.link import Address
from barnabas_core.wire.api import API_BY_KEY

int16 = st.integers(-(2**15), 2**15 - 1)
apis = st.lists(st.builds(ApiRange, int16, int16, int16), max_size=3).map(tuple)
text = st.text(max_size=20)
addresses = st.builds(Address, text, st.integers(0, 65535))
racks = st.none() | text
heartbeats = st.builds(Heartbeat, st.integers(0, 2**32 - 1), st.booleans())
registrations = st.builds(Registration, addresses, racks, apis)
members = st.builds(
    LiveCoordinator,
    text,
    st.integers(0, 2**31 - 1),
    st.binary(min_size=16, max_size=16),
    addresses,
    racks,
    st.booleans(),
    apis,
)
lists = st.builds(
    LiveList,
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**62),
    st.booleans(),
    st.lists(members, max_size=3).map(tuple),
)


@given(registration=registrations, heartbeat=heartbeats)
def test_a_registration_comes_back_as_it_was(
    registration: Registration, heartbeat: Heartbeat
) -> None:
    body = encode_registration(registration, heartbeat)

    assert decode_registration(body) == (registration, heartbeat)


@given(heartbeat=heartbeats, standing=st.sampled_from(Standing), alone=st.booleans())
def test_heartbeats_and_verdicts_come_back_as_they_were(
    heartbeat: Heartbeat, standing: Standing, *, alone: bool
) -> None:
    verdict = Verdict(standing, alone)

    assert decode_heartbeat(encode_heartbeat(heartbeat)) == heartbeat
    assert decode_verdict(encode_verdict(verdict)) == verdict


@given(live=lists)
def test_a_list_comes_back_as_it_was(live: LiveList) -> None:
    assert decode_live(encode_live(live)) == live


WHOLE = LiveList(
    3,
    7,
    True,
    (LiveCoordinator("group", 5, bytes(16), Address("h", 1), "r", apis=(ApiRange(1, 2, 3),)),),
)


@pytest.mark.parametrize(
    ("body", "decode"),
    [
        (encode_live(WHOLE), decode_live),
        (encode_registration(Registration(Address("h", 1), "r", ()), Heartbeat(1)),
         decode_registration),
        (encode_heartbeat(Heartbeat(1)), decode_heartbeat),
        (encode_verdict(Verdict(Standing.LIVE, is_alone=False)), decode_verdict),
    ],
)  # fmt: skip
def test_what_is_cut_or_too_long_is_not_believed(
    body: bytes, decode: Callable[[bytes], Any]
) -> None:
    for size in range(len(body)):
        with pytest.raises(BadCoordinatorMessage):
            decode(body[:size])
    with pytest.raises(BadCoordinatorMessage, match="1 bytes too many"):
        decode(body + b"\0")


def test_a_standing_that_nobody_knows_is_not_believed() -> None:
    with pytest.raises(BadCoordinatorMessage):
        decode_verdict(b"\x09\x00")


def test_the_calls_are_out_of_the_way_of_kafkas() -> None:
    assert not {REGISTER, HEARTBEAT} & set(API_BY_KEY)
