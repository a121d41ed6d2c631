"""Whole numbers: what Java takes and Python takes too much of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.config.number import INT16_MAX, INT32_MAX, INT64_MAX, parse_whole


@given(st.integers(-INT64_MAX - 1, INT64_MAX))
def test_every_number_in_range_is_read(number: int) -> None:
    assert parse_whole(str(number), INT64_MAX) == number


@pytest.mark.parametrize(("text", "number"), [("+5", 5), ("007", 7), ("-0", 0), ("0" * 50, 0)])
def test_signs_and_leading_zeros_are_fine(text: str, number: int) -> None:
    assert parse_whole(text, INT32_MAX) == number


@pytest.mark.parametrize("largest", [INT16_MAX, INT32_MAX, INT64_MAX])
def test_the_range_has_one_more_number_below_zero(largest: int) -> None:
    assert parse_whole(str(-largest - 1), largest) == -largest - 1
    for outside in (largest + 1, -largest - 2):
        with pytest.raises(ValueError, match="out of range"):
            parse_whole(str(outside), largest)


@pytest.mark.parametrize("text", ["", "-", "+", "1_0", " 1", "1 ", "1.0", "0x1", "--1", "١", "1e3"])
def test_what_java_would_not_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        parse_whole(text, INT32_MAX)


@pytest.mark.parametrize("text", ["9" * 20, "-" + "9" * 20, "9" * 10_000])
def test_a_number_of_any_length_is_only_out_of_range(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_whole(text, INT64_MAX)
