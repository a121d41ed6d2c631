"""Values of each type: text in, value out, text again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.config.error import InvalidValue
from barnabas_core.config.property_type import (
    Password,
    PropertyType,
    Value,
    format_value,
    parse_value,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (PropertyType.BOOLEAN, " TRUE ", True),
        (PropertyType.BOOLEAN, "False", False),
        (PropertyType.INT, "\t-5\n", -5),
        (PropertyType.SHORT, "32767", 32767),
        (PropertyType.LONG, "9223372036854775807", 2**63 - 1),
        (PropertyType.DOUBLE, "1", 1.0),
        (PropertyType.DOUBLE, ".5e-1", 0.05),
        (PropertyType.DOUBLE, "2.d", 2.0),
        (PropertyType.DOUBLE, "-Infinity", -math.inf),
        (PropertyType.STRING, "  a b ", "a b"),
        (PropertyType.CLASS, "org.example.Thing", "org.example.Thing"),
        (PropertyType.LIST, "", ()),
        (PropertyType.LIST, "  ", ()),
        (PropertyType.LIST, "a , b,c", ("a", "b", "c")),
        (PropertyType.LIST, "a,,b,", ("a", "", "b", "")),
        (PropertyType.PASSWORD, " secret ", Password("secret")),
    ],
)
def test_a_value_is_read_without_the_blanks_around_it(
    kind: PropertyType, text: str, value: Value
) -> None:
    assert parse_value("some.name", kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (PropertyType.BOOLEAN, "yes", "Expected value to be either true or false"),
        (PropertyType.INT, "2147483648", "Not a number of type INT"),
        (PropertyType.INT, "1.5", "Not a number of type INT"),
        (PropertyType.SHORT, "32768", "Not a number of type SHORT"),
        (PropertyType.LONG, "", "Not a number of type LONG"),
        (PropertyType.DOUBLE, "nan", "Not a number of type DOUBLE"),
        (PropertyType.DOUBLE, "1_0", "Not a number of type DOUBLE"),
        (PropertyType.DOUBLE, "", "Not a number of type DOUBLE"),
    ],
)
def test_a_wrong_value_is_refused_in_kafkas_words(
    kind: PropertyType, text: str, reason: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse_value("some.name", kind, text)

    assert str(caught.value) == f"Invalid value {text} for configuration some.name: {reason}"


def test_a_password_does_not_show() -> None:
    password = Password("secret")

    assert (str(password), format_value(password)) == ("[hidden]", "[hidden]")
    assert password.reveal() == "secret"
    assert password != Password("other")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (5, "5"),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (2147483647.0, "2.147483647E9"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_value_is_shown_as_java_shows_it(value: Value | None, text: str | None) -> None:
    assert format_value(value) == text


@given(st.floats(allow_nan=False))
def test_a_double_comes_back_from_its_text(value: float) -> None:
    text = format_value(value)

    assert text is not None
    assert parse_value("some.name", PropertyType.DOUBLE, text) == value
