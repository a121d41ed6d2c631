"""Subscriptions by regular expression: RE2's, matched against whole topic names."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import re2

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


class ResolvedRegex(NamedTuple):
    topics: frozenset[str]
    version: int
    """The offset of the metadata it was matched against."""
    timestamp_ms: int


def is_valid(regex: str) -> bool:
    try:
        re2.compile(regex, _OPTIONS)
    except re2.error:
        return False
    return True


def matching(regexes: Iterable[str], topic_names: Iterable[str]) -> dict[str, frozenset[str]]:
    """In time linear in the length of names and expressions, whatever these are."""
    names = tuple(topic_names)
    found: dict[str, frozenset[str]] = {}
    for regex in regexes:
        if is_valid(regex):  # in a log that another release wrote it may not be
            pattern = re2.compile(regex, _OPTIONS)
            found[regex] = frozenset(name for name in names if pattern.fullmatch(name))
        else:
            found[regex] = frozenset()
    return found
