"""Java's `.properties` files: `server.properties`, `meta.properties`.

A logical line is `key = value`, `key: value` or `key value`; it goes on with the next line if it
ends in an odd number of backslashes; `#` or `!` first makes it a comment. A backslash escapes
what follows: `\\t \\n \\f \\r`, a UTF-16 unit in four hexadecimal digits after `u`, any other
character itself. Later keys win.
"""

import re
from collections.abc import Iterator, Mapping

from barnabas_core.config.error import MalformedProperties

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
# A key ends at the first separator that is not escaped.
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_UNESCAPED = {"\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\"}


def parse_properties_text(text: str) -> dict[str, str]:
    """The properties, in the order in which their keys came first."""
    return {key: value for _, key, value in _entries(text)}


def property_lines(text: str) -> dict[str, int]:
    """The line, counted from 1, that gives each property its value."""
    return {key: number for number, key, _ in _entries(text)}


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, key, value)"""
    for number, line in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None, "the pattern matches the empty string"
        separator = _SEPARATOR.match(line, match.end())
        assert separator is not None, "the pattern matches the empty string"
        yield number, _unescape(number, match[1]), _unescape(number, line[separator.end() :])


def format_properties_text(properties: Mapping[str, str], comments: tuple[str, ...] = ()) -> str:
    """The text as Java stores it, all ASCII, sorted by key, after one comment line each."""
    lines = [f"#{comment}" for comment in comments]
    lines += [
        f"{_escape(key, is_key=True)}={_escape(properties[key], is_key=False)}"
        for key in sorted(properties)
    ]
    return "".join(f"{line}\n" for line in lines)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) without comments, blank lines and leading blanks, continued ones joined."""
    joined: list[str] = []
    started_at = 0
    lines = _LINE_END.split(text)
    for number, line in enumerate(lines, start=1):
        line = line.lstrip(_BLANKS)
        if not joined:
            if not line or line[0] in "#!":
                continue
            started_at = number
        if _is_continued(line) and number < len(lines):
            joined.append(line[:-1])
            continue
        # A lone backslash at the very end of the file escapes nothing.
        joined.append(line[:-1] if _is_continued(line) else line)
        yield started_at, "".join(joined)
        joined = []


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(number: int, text: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise MalformedProperties(number, "a \\u without four hexadecimal digits")
        return _ESCAPED.get(match[2], match[2])

    units = _ESCAPE.sub(replace, text)
    try:
        # Two escaped surrogates are one character.
        return units.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise MalformedProperties(number, "half of a surrogate pair") from error


def _escape(text: str, *, is_key: bool) -> str:
    """Blanks are escaped everywhere in a key, in a value only at its start."""
    escaped = []
    for index, character in enumerate(text):
        if character in _UNESCAPED:
            escaped.append(_UNESCAPED[character])
        elif character in "=:#!" or (character == " " and (is_key or index == 0)):
            escaped.append(f"\\{character}")
        elif " " <= character <= "~":
            escaped.append(character)
        else:
            escaped.append(_utf_16_escapes(character))
    return "".join(escaped)


def _utf_16_escapes(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4].upper()}" for at in range(0, len(units), 4))
