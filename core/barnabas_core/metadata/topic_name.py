"""Which names a topic may have."""

from typing import Final

LONGEST: Final = 249
_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def topic_name_fault(name: str) -> str | None:
    """None if a topic may be called so, else Kafka's message (INVALID_TOPIC_EXCEPTION)."""
    reason = _reason(name)
    return None if reason is None else f"Topic name is invalid: {reason}"


def _reason(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > LONGEST:
        return f"the length of '{name}' is longer than the max allowed length {LONGEST}"
    if not _ALLOWED.issuperset(name):
        return (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            f"'.', '_' and '-'"
        )
    return None
