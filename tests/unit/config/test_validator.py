"""Validators, from the way in which the tables spell them."""

import pytest

from barnabas_core.config.error import ConfigError
from barnabas_core.config.property_type import PropertyType, parse_value
from barnabas_core.config.validator import validator

INT, DOUBLE = PropertyType.INT, PropertyType.DOUBLE
STRING, LIST = PropertyType.STRING, PropertyType.LIST
THROTTLED = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


def refusal(spelling: str, kind: PropertyType, text: str, name: str = "x") -> str | None:
    """Why a value is refused; None if it is not."""
    check = validator(spelling, kind)
    assert check is not None
    try:
        check(name, parse_value(name, kind, text))
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("spelling", "kind", "text"),
    [
        ("[0,...]", INT, "0"),
        ("[-2,...]", INT, "-2"),
        ("[1,...,9]", INT, "9"),
        ("[1,...,9] or -1", INT, "-1"),
        ("[1,...,9] or -1", INT, "1"),
        ("[-131072,...,22]", INT, "-131072"),
        ("[0,...,1]", DOUBLE, "1.0"),
        ("[0.5,...,1.0]", DOUBLE, "0.5"),
        ("[compact, delete]", LIST, ""),
        ("[compact, delete]", LIST, "delete, compact"),
        ("[all, -1, 0, 1]", STRING, "-1"),
        ("(case insensitive) [FULL, INCREMENTAL]", STRING, "full"),
        ("[latest, by_duration:PnDTnHnMn.nS]", STRING, "by_duration:P3DT3H4M59.5S"),
        ("[latest, by_duration:PnDTnHnMn.nS]", STRING, "latest"),
        (THROTTLED, LIST, "*"),
        (THROTTLED, LIST, ""),
        (THROTTLED, LIST, "0:1, 12:3"),
        ("non-empty string", STRING, "a"),
        ("non-empty list", LIST, "a"),
    ],
)
def test_an_allowed_value_passes(spelling: str, kind: PropertyType, text: str) -> None:
    assert refusal(spelling, kind, text) is None


BY_DURATION = "[latest, by_duration:PnDTnHnMn.nS]"
REPLICAS = (
    "x must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)


@pytest.mark.parametrize(
    ("spelling", "kind", "text", "reason"),
    [
        ("[1,...]", INT, "0", "Value must be at least 1"),
        ("[1,...,9]", INT, "10", "Value must be no more than 9"),
        ("[0,...,1]", DOUBLE, "1.5", "Value must be no more than 1"),
        ("[0.5,...,1.0]", DOUBLE, "0.4", "Value must be at least 0.5"),
        ("[1,...,9] or -1", INT, "0", "Value must be between 1 and 9 or equal to -1"),
        ("[1,...,9] or -1", INT, "10", "Value must be between 1 and 9 or equal to -1"),
        ("[a, b]", STRING, "A", "String must be one of: a, b"),
        (
            "(case insensitive) [A, B]",
            STRING,
            "c",
            "String must be one of (case insensitive): A, B",
        ),
        (BY_DURATION, STRING, "soon", "String must be one of: latest, by_duration:PnDTnHnMn.nS"),
        ("non-empty string", STRING, "", "String must be non-empty"),
    ],
)
def test_a_forbidden_value_is_refused_in_kafkas_words(
    spelling: str, kind: PropertyType, text: str, reason: str
) -> None:
    expected = f"Invalid value {text} for configuration x: {reason}"
    assert refusal(spelling, kind, text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("delete,y", "Invalid value y for configuration x: String must be one of: compact, delete"),
        ("delete,", "Configuration 'x' values must not be empty."),
    ],
)
def test_a_forbidden_list_is_refused_in_kafkas_words(text: str, reason: str) -> None:
    assert refusal("[compact, delete]", LIST, text) == reason


@pytest.mark.parametrize("text", ["0:1, 2", "*, 0:1"])
def test_forbidden_replicas_are_refused_in_kafkas_words(text: str) -> None:
    expected = f"Invalid value [{text}] for configuration x: {REPLICAS}"
    assert refusal(THROTTLED, LIST, text) == expected


def test_the_roles_of_a_process_must_not_be_empty() -> None:
    reason = refusal("[broker, controller]", LIST, "", name="process.roles")

    assert reason == (
        "Configuration 'process.roles' must not be empty. "
        "Valid values include: [broker, controller]"
    )


@pytest.mark.parametrize("duration", ["PT", "P1DT", "1D", "P1X", "PT1.0000000001S", "P-", ""])
def test_what_java_reads_as_no_duration_is_refused(duration: str) -> None:
    assert refusal("[by_duration:PnDTnHnMn.nS]", STRING, f"by_duration:{duration}") is not None


def test_no_spelling_means_no_check() -> None:
    assert validator("", STRING) is None


def test_a_spelling_that_nobody_knows_is_a_broken_invariant() -> None:
    with pytest.raises(AssertionError, match="even numbers"):
        validator("even numbers", INT)
