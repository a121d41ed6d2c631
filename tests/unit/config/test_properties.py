"""Java's properties files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.config.error import MalformedProperties
from barnabas_core.config.properties import format_properties_text, parse_properties_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize(
    "line",
    [
        "key=value",
        "key = value",
        "key:value",
        "key : value",
        "key value",
        " key\t=\fvalue",
        "key  value",
    ],
)
def test_a_key_ends_at_equals_colon_or_blank(line: str) -> None:
    assert parse_properties_text(line) == {"key": "value"}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("key", {"key": ""}),
        ("key=", {"key": ""}),
        ("=value", {"": "value"}),
        ("key==value", {"key": "=value"}),
        ("key = : value", {"key": ": value"}),
        ("key=value  ", {"key": "value  "}),
        ("key=a=b:c d", {"key": "a=b:c d"}),
        (r"a\ b\=c\:d=e", {"a b=c:d": "e"}),
        (r"path=C:\\temp\new", {"path": "C:\\temp\new"}),
        (r"key=\t\n\r\f\q", {"key": "\t\n\r\fq"}),
        (r"key=\u00e9\u0041", {"key": "éA"}),
        (r"key=\ud83d\udc2b", {"key": "🐫"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("# a=1\n  ! b=2\n\n \t\nc=3 # no comment", {"c": "3 # no comment"}),
    ],
)
def test_a_line_means_what_java_takes_it_for(text: str, properties: dict[str, str]) -> None:
    assert parse_properties_text(text) == properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("fruits=apple, \\\n    pear, \\\r\n    plum", {"fruits": "apple, pear, plum"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\\\\\nb=2", {"a": "1\\b=2"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("# comment \\\na=1", {"a": "1"}),
    ],
)
def test_a_backslash_at_the_end_continues_a_line(text: str, properties: dict[str, str]) -> None:
    assert parse_properties_text(text) == properties


@pytest.mark.parametrize(
    ("text", "line"),
    [("a=1\nb=\\u12g4", 2), ("a=\\u", 1), ("#\n\na=1\\\n  \\ud83d", 3)],
)
def test_a_bad_escape_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(MalformedProperties) as caught:
        parse_properties_text(text)

    assert caught.value.line == line


def test_properties_are_written_sorted_after_the_comments() -> None:
    text = format_properties_text({"b": " x y", "a b": "1=2:3#4!5"}, ("", "a date"))

    assert text == "#\n#a date\na\\ b=1\\=2\\:3\\#4\\!5\nb=\\ x y\n"


def test_what_is_not_ascii_is_written_in_utf_16_units() -> None:
    assert format_properties_text({"k": "é🐫\t"}) == "k=\\u00E9\\uD83D\\uDC2B\\t\n"


@given(st.dictionaries(texts, texts, max_size=5))
def test_properties_come_back_as_they_were_written(properties: dict[str, str]) -> None:
    text = format_properties_text(properties, ("a comment",))

    assert text.isascii()
    assert parse_properties_text(text) == properties


@given(st.text(alphabet="ab \\=:#!\n\r\tu0d8", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        properties = parse_properties_text(text)
    except MalformedProperties:
        return
    assert all(isinstance(value, str) for value in properties.values())
