"""Lengths of time and sizes as people write them."""

import pytest

from barnabas_pipeline.spec.quantity import duration_ms, size_bytes


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("10s", 10_000),
        ("5 minutes", 300_000),
        ("2h", 7_200_000),
        ("1 day", 86_400_000),
    ],
)
def test_a_duration_has_a_unit(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(("text", "size"), [("128MiB", 128 << 20), ("1 GB", 10**9), ("77", 77)])
def test_a_size_may_have_one(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "10", "0s", "-5s", "ten s", "1.5h", "10 parsecs"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a length of time above 0"):
        duration_ms(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "10 pages"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size above 0"):
        size_bytes(text)
