"""Whole numbers as Java reads them: `Integer.parseInt` and its kin.

Python's `int()` also takes underscores, blanks around the digits and digits of other scripts,
none of which Kafka accepts in a file or a config value.
"""

INT16_MAX = 2**15 - 1
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def parse_whole(text: str, largest: int) -> int:
    """The number, if it lies in [-largest - 1, largest]; `ValueError` otherwise."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"not a whole number: {text!r}")
    # Long enough to be out of range whatever the zeros in front: Python refuses over 4300 digits.
    significant = digits.lstrip("0")
    value = int(significant or "0") if len(significant) <= 19 else largest + 2
    if text[0] == "-":
        value = -value
    if not -largest - 1 <= value <= largest:
        raise ValueError(f"out of range: {text[:40]!r}")
    return value
