"""Checkpoint files, byte for byte, and every way in which one can be damaged."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.directories.checkpoint import (
    CorruptFile,
    decode_leader_epochs,
    decode_offsets,
    encode_leader_epochs,
    encode_offsets,
)

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True)
offsets = st.dictionaries(
    st.tuples(topics, st.integers(0, 2**31 - 1)), st.integers(-1, 2**63 - 1), max_size=5
)
epochs = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)), max_size=5)


def test_offsets_are_written_as_kafka_does() -> None:
    data = encode_offsets({("orders", 0): 17, ("__consumer_offsets", 49): 9223372036854775807})

    assert data == b"0\n2\norders 0 17\n__consumer_offsets 49 9223372036854775807\n"


def test_leader_epochs_are_written_as_kafka_does() -> None:
    assert encode_leader_epochs([(0, 0), (3, 128)]) == b"0\n2\n0 0\n3 128\n"


def test_a_checkpoint_without_entries_has_two_lines() -> None:
    assert encode_offsets({}) == encode_leader_epochs([]) == b"0\n0\n"
    assert decode_offsets(b"0\n0\n") == {}


@pytest.mark.parametrize("data", [b"", b"0", b"0\n", b"0\n0"])
def test_a_file_that_kafka_has_only_just_created_is_empty(data: bytes) -> None:
    assert decode_offsets(data) == {}
    assert decode_leader_epochs(data) == []


def test_the_last_line_end_may_be_missing() -> None:
    assert decode_offsets(b"0\n1\na 1 2") == {("a", 1): 2}


@given(offsets=offsets)
def test_offsets_come_back_as_they_were_written(offsets: dict[tuple[str, int], int]) -> None:
    assert decode_offsets(encode_offsets(offsets)) == offsets


@given(epochs=epochs)
def test_leader_epochs_come_back_as_they_were_written(epochs: list[tuple[int, int]]) -> None:
    assert decode_leader_epochs(encode_leader_epochs(epochs)) == epochs


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"1\n0\n", 1),
        (b"x\n0\n", 1),
        (b"\n", 1),
        (b"0\nx\n", 2),
        (b"0\n2\na 0 1\n", 2),
        (b"0\n0\na 0 1\n", 2),
        (b"0\n-1\n", 2),
        (b"0\n2\na 0 1\na 0\n", 4),
        (b"0\n1\na 0 1 2\n", 3),
        (b"0\n1\na x 1\n", 3),
        (b"0\n1\na 0 1_0\n", 3),
        (b"0\n1\na 0 9223372036854775808\n", 3),
        (b"0\n1\na 2147483648 0\n", 3),
        (b"0\n1\n\n", 3),
        (b"0\n1\na\xff 0 1\n", 3),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(data: bytes, line: int) -> None:
    with pytest.raises(CorruptFile, match=f"^line {line}: ") as caught:
        decode_offsets(data)

    assert caught.value.line == line


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"0\n1\n1\n", 3), (b"0\n1\n1 2 3\n", 3), (b"0\n2\n1 2\n-1 3\n", 4), (b"0\n1\n1 -3\n", 3)],
)
def test_a_damaged_epoch_file_is_refused_with_its_line(data: bytes, line: int) -> None:
    with pytest.raises(CorruptFile) as caught:
        decode_leader_epochs(data)

    assert caught.value.line == line


@given(st.binary(max_size=40))
def test_garbage_is_refused_with_the_one_error(data: bytes) -> None:
    for decode in (decode_offsets, decode_leader_epochs):
        with suppress(CorruptFile):
            decode(data)
