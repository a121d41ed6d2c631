"""The stream machine, both ends of it, without a network."""

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.links.item import (
    WHOLE_STREAM,
    Answer,
    Frame,
    Hello,
    Item,
    Push,
    Reason,
    Refusal,
    item_bytes,
)
from barnabas_core.links.stream import BadFrame, Stream, StreamLimits
from barnabas_core.ports.link import Identity

SMALL = StreamLimits(
    frame_bytes=1_000, frame_items=10, prompt_bytes=500, push_window_bytes=4_000, silent_ticks=3
)
HELLO = Hello(Identity("cluster", 1, "broker"))


def answer(number: int, size: int = 0) -> Answer:
    return Answer(number, bytes(size))


def pair() -> tuple[Stream, Stream]:
    """Two ends that have greeted each other and acknowledged it."""
    here, there = Stream(SMALL), Stream(SMALL)
    for one, other in ((here, there), (there, here)):
        one.offer(HELLO)
        frame = one.next_frame()
        assert frame is not None
        other.on_frame(frame)
    ping(here, there)
    ping(there, here)
    return here, there


def ping(one: Stream, other: Stream) -> None:
    one.on_tick()
    one.on_tick()
    frame = one.next_frame()
    assert frame is not None
    other.on_frame(frame)


def sent(stream: Stream) -> Frame:
    frame = stream.next_frame()
    assert frame is not None
    return frame


def test_what_is_offered_together_travels_together() -> None:
    here, _ = pair()
    for number in range(5):
        here.offer(answer(number))

    frame = sent(here)

    assert len(frame.items) == 5
    assert here.next_frame() is None


def test_two_frames_are_under_way_and_the_rest_waits_for_both_ends() -> None:
    here, there = pair()
    frames = []
    for number in range(5):
        here.offer(answer(number))
        frames.append(here.next_frame())

    assert [frame is None for frame in frames] == [False, False, True, True, True]
    for frame in frames[:2]:
        assert frame is not None
        there.on_frame(frame)
    here.on_frame(sent(there))
    assert [item.call_id for item in sent(here).items if isinstance(item, Answer)] == [2, 3, 4]


def test_a_frame_takes_no_more_than_its_size() -> None:
    here, _ = pair()
    for number in range(4):
        here.offer(answer(number, 400))

    assert len(sent(here).items) == 2


def test_a_frame_takes_no_more_than_so_many_items() -> None:
    here, _ = pair()
    for number in range(11):
        here.offer(answer(number))

    assert len(sent(here).items) == 10


def test_an_item_larger_than_a_frame_goes_alone() -> None:
    here, _ = pair()
    for item in (answer(1, 5_000), answer(2)):
        here.offer(item)

    assert [item.call_id for item in sent(here).items if isinstance(item, Answer)] == [1]


def test_one_small_frame_is_not_worth_an_acknowledgement() -> None:
    here, there = pair()
    here.offer(answer(1))
    there.on_frame(sent(here))

    assert there.next_frame() is None


def test_a_large_frame_is_acknowledged_at_once() -> None:
    here, there = pair()
    here.offer(answer(1, 600))
    there.on_frame(sent(here))

    assert sent(there) == Frame(2, 0)


def test_acknowledgements_are_not_acknowledged() -> None:
    here, there = pair()
    for number in range(2):
        here.offer(answer(number))
        there.on_frame(sent(here))

    here.on_frame(sent(there))

    assert here.next_frame() is None
    assert there.next_frame() is None


def test_an_answer_carries_the_acknowledgement() -> None:
    here, there = pair()
    for number in range(2):
        here.offer(answer(number))
        there.on_frame(sent(here))
    there.offer(answer(7))

    frame = sent(there)

    assert (frame.received_frame_count, len(frame.items)) == (3, 1)
    assert there.next_frame() is None


def test_what_is_withdrawn_in_time_never_leaves() -> None:
    here, _ = pair()
    first, second = answer(1), answer(2)
    here.offer(first)
    here.offer(second)

    assert here.withdraw(first)
    assert sent(here).items == (second,)
    assert not here.withdraw(second)
    assert here.waiting_bytes == 0


def test_a_stream_begins_with_one_hello() -> None:
    for items in ((answer(1),), (HELLO, HELLO), (answer(1), HELLO)):
        with pytest.raises(BadFrame, match="hello"):
            Stream(SMALL).on_frame(Frame(0, 0, items))
    _, there = pair()
    with pytest.raises(BadFrame, match="hello"):
        there.on_frame(Frame(1, 0, (HELLO,)))


def test_a_stream_may_be_refused_instead_of_greeted() -> None:
    refusal = Refusal(WHOLE_STREAM, Reason.REFUSED, "no")

    assert Stream(SMALL).on_frame(Frame(0, 0, (refusal,))) == (refusal,)
    with pytest.raises(BadFrame, match="hello"):
        Stream(SMALL).on_frame(Frame(0, 0, (Refusal(1, Reason.REFUSED, "no"),)))


def test_nobody_has_received_what_was_not_sent_or_less_than_before() -> None:
    here, _ = pair()

    for count in (0, 2):
        with pytest.raises(BadFrame, match="frames received"):
            here.on_frame(Frame(count, 0))
    with pytest.raises(BadFrame, match="pushes handled"):
        here.on_frame(Frame(1, 1))


def test_pushes_wait_for_their_window_and_answers_do_not() -> None:
    here, there = pair()
    push = Push(1, bytes(1_000))
    while here.push_room(push):
        here.offer(push)
        there.on_frame(sent(here))
        here.on_frame(sent(there))

    assert not here.push_room(push)
    here.offer(answer(1))
    assert here.next_frame() is not None


def test_pushes_that_were_dealt_with_make_room() -> None:
    here, there = pair()
    push = Push(1, bytes(1_000))
    for _ in range(3):
        assert here.push_room(push)
        here.offer(push)
        there.on_frame(sent(here))
        here.on_frame(sent(there))
    assert not here.push_room(push)

    there.on_push_handled(push)
    here.on_frame(sent(there))

    assert here.push_room(push)


def test_a_push_larger_than_the_window_goes_when_half_of_it_is_free() -> None:
    here, there = pair()
    small, large = Push(1, bytes(300)), Push(1, bytes(10_000))
    here.offer(small)
    there.on_frame(sent(here))
    there.on_push_handled(small)

    assert there.next_frame() is None, "a few bytes are not worth a report"
    assert here.push_room(large)
    here.offer(large)
    there.on_frame(sent(here))
    assert not here.push_room(small)


def test_pushing_beyond_the_window_breaks_the_protocol() -> None:
    _, there = pair()

    with pytest.raises(BadFrame, match="more pushes"):
        there.on_frame(Frame(1, 0, tuple(Push(1, bytes(1_000)) for _ in range(4))))


def test_a_ping_goes_out_when_nothing_else_did() -> None:
    here, there = pair()
    here.on_tick()
    here.offer(answer(1))
    there.on_frame(sent(here))

    here.on_tick()
    assert here.next_frame() is None
    here.on_tick()
    assert sent(here) == Frame(1, 0)


def test_a_ping_does_not_stand_for_the_next_one() -> None:
    here, _ = pair()
    here.on_tick()

    for _ in range(3):
        here.on_tick()
        assert here.next_frame() is not None


def test_silence_is_counted_in_ticks() -> None:
    here, there = pair()
    here.on_tick()

    assert [here.on_tick() for _ in range(2)] == [False, False]
    ping(there, here)
    assert [here.on_tick() for _ in range(4)] == [False, False, False, True]


# --- both ends under any schedule


@dataclass
class Wire:
    """Frames under way from one end to the other, and what has come of them."""

    source: Stream
    target: Stream
    under_way: deque[Frame] = field(default_factory=deque)
    offered: list[Item] = field(default_factory=list)
    arrived: list[Item] = field(default_factory=list)
    unhandled: deque[Push] = field(default_factory=deque)

    def offer(self, item: Item) -> None:
        if isinstance(item, Push) and not self.source.push_room(item):
            return
        self.source.offer(item)
        self.offered.append(item)

    def send(self) -> bool:
        frame = self.source.next_frame()
        if frame is not None:
            self.under_way.append(frame)
            assert sum(1 for frame in self.under_way if frame.items) <= SMALL.in_flight_frames
        return frame is not None

    def deliver(self) -> bool:
        if not self.under_way:
            return False
        for item in self.target.on_frame(self.under_way.popleft()):
            self.arrived.append(item)
            if isinstance(item, Push):
                self.unhandled.append(item)
        held = sum(map(item_bytes, self.unhandled))
        largest = max(map(item_bytes, self.unhandled), default=0)
        assert held <= SMALL.push_window_bytes + largest
        return True

    def handle(self) -> bool:
        if not self.unhandled:
            return False
        self.target.on_push_handled(self.unhandled.popleft())
        return True


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.one_of(
            st.sampled_from(["send", "deliver", "handle"]),
            st.integers(0, 3_000).map(lambda size: Answer(0, bytes(size))),
            st.integers(0, 6_000).map(lambda size: Push(0, bytes(size))),
        ),
    ),
    max_size=60,
)


@given(STEPS)
def test_whatever_the_schedule_all_arrives_once_and_in_order(
    steps: list[tuple[int, str | Answer | Push]],
) -> None:
    here, there = Stream(SMALL), Stream(SMALL)
    wires = [Wire(here, there), Wire(there, here)]
    for wire in wires:
        wire.offer(HELLO)
    for side, step in steps:
        wire = wires[side]
        if isinstance(step, str):
            getattr(wire, step)()
        else:
            wire.offer(step)

    # Without a single tick: nothing depends on pings to get through.
    moves = [move for wire in wires for move in (wire.send, wire.deliver, wire.handle)]
    while any(move() for move in moves):
        pass

    for wire in wires:
        assert wire.arrived == wire.offered
        assert wire.source.push_room(Push(0, bytes(6_000)))
