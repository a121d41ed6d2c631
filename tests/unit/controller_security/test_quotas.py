"""Client quotas (KIP-546). Messages and codes are those of Kafka 4.3.1, but where it says not."""

import math
from dataclasses import replace

import pytest

from barnabas_controller.managers.quotas.alter_client_quotas import decide_alter_client_quotas
from barnabas_controller.managers.quotas.describe_client_quotas import (
    decide_describe_client_quotas,
)
from barnabas_core.metadata.quota_filter import DEFAULT, EXACT, SPECIFIED
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from barnabas_core.wire.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from barnabas_core.wire.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
)
from tests.support.controller_lab import SETTINGS, ControllerLab

Entity = list[tuple[str, str | None]]
Outcome = tuple[ErrorCode, str | None]
OK = (ErrorCode.NONE, None)
USER_A: Entity = [("user", "a")]
REMOVE = None


def entry(entity: Entity, *ops: tuple[str, float | None]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            OpData(key=key, value=0.0 if value is REMOVE else value, remove=value is REMOVE)
            for key, value in ops
        ],
    )


def alter(lab: ControllerLab, *entries: EntryData, validate_only: bool = False) -> list[Outcome]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    answer = lab.decide(decide_alter_client_quotas, request)
    return [(ErrorCode(each.error_code), each.error_message) for each in answer.entries]


def describe(
    lab: ControllerLab, *components: tuple[str, int, str | None], strict: bool = False
) -> DescribeClientQuotasResponse:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=how, match=match)
            for kind, how, match in components
        ],
        strict=strict,
    )
    return lab.decide(decide_describe_client_quotas, request)


def test_quotas_are_set_changed_and_removed() -> None:
    lab = ControllerLab()
    key = (("user", "a"),)

    rates = (("producer_byte_rate", 5.0), ("request_percentage", 12.5))
    assert alter(lab, entry(USER_A, *rates)) == [OK]
    assert lab.image.quotas == {key: {"producer_byte_rate": 5.0, "request_percentage": 12.5}}

    assert alter(lab, entry(USER_A, ("producer_byte_rate", REMOVE))) == [OK]
    assert lab.image.quotas == {key: {"request_percentage": 12.5}}

    assert alter(lab, entry(USER_A, ("request_percentage", REMOVE))) == [OK]
    assert lab.image.quotas == {}


def test_what_changes_nothing_is_no_record() -> None:
    lab = ControllerLab()
    alter(lab, entry(USER_A, ("producer_byte_rate", 5.0)))

    same = entry(USER_A, ("producer_byte_rate", 5.0), ("nope", REMOVE))
    assert alter(lab, same) == [OK]

    assert lab.records == []


def test_the_order_of_an_entitys_parts_does_not_matter() -> None:
    lab = ControllerLab()
    alter(lab, entry([("client-id", "c"), ("user", None)], ("producer_byte_rate", 5.0)))

    alter(lab, entry([("user", None), ("client-id", "c")], ("producer_byte_rate", REMOVE)))

    assert lab.image.quotas == {}


@pytest.mark.parametrize(
    ("entity", "key", "value", "message"),
    [
        (USER_A, "producer_byte_rate", 5.5, "producer_byte_rate cannot be a fractional value."),
        (USER_A, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        (USER_A, "producer_byte_rate", -1.0, "Quota producer_byte_rate must be greater than 0"),
        # Kafka keeps a rate that is no number.
        (USER_A, "producer_byte_rate", math.nan, "Quota producer_byte_rate must be greater than 0"),
        (
            USER_A,
            "producer_byte_rate",
            1e19,
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (USER_A, "nope", 1.0, "Invalid configuration key nope"),
        (
            USER_A,
            "connection_creation_rate",
            1.0,
            "Invalid configuration key connection_creation_rate",
        ),
        (
            [("ip", "1.2.3.4")],
            "producer_byte_rate",
            1.0,
            "Invalid configuration key producer_byte_rate",
        ),
        (
            [("ip", None)],
            "connection_creation_rate",
            3e9,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (
            [("ip", "not an ip")],
            "connection_creation_rate",
            1.0,
            "not an ip is not a valid IP or resolvable host.",
        ),
        (
            [("user", "a"), ("ip", "1.2.3.4")],
            "connection_creation_rate",
            1.0,
            (
                "Invalid quota entity combination, IP entity should not be combined with User or "
                "ClientId"
            ),
        ),
        ([("user", "")], "producer_byte_rate", 1.0, "Empty user not supported"),
        ([("zzz", "a")], "producer_byte_rate", 1.0, "Unhandled client quota entity type: zzz"),
        ([], "producer_byte_rate", 1.0, "Invalid empty client quota entity"),
        # Kafka takes the last of them.
        (
            [("user", "a"), ("user", "b")],
            "producer_byte_rate",
            1.0,
            "Invalid client quota entity, duplicate entity entry user",
        ),
    ],
)
def test_a_wrong_quota_is_refused(entity: Entity, key: str, value: float, message: str) -> None:
    lab = ControllerLab()

    assert alter(lab, entry(entity, (key, value))) == [(ErrorCode.INVALID_REQUEST, message)]

    assert lab.records == []


@pytest.mark.parametrize("address", ["1.2.3.4", "::1", None])
def test_addresses_have_a_rate_of_new_connections(address: str | None) -> None:
    lab = ControllerLab()

    assert alter(lab, entry([("ip", address)], ("connection_creation_rate", 7.0))) == [OK]

    assert lab.image.quotas == {(("ip", address),): {"connection_creation_rate": 7.0}}


def test_a_key_comes_once_and_an_entity_comes_once() -> None:
    lab = ControllerLab()
    keys_twice = entry(USER_A, ("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0))
    first = entry([("user", "b")], ("producer_byte_rate", 1.0))
    again = entry([("user", "b")], ("consumer_byte_rate", 1.0))

    outcomes = alter(lab, keys_twice, first, again)

    assert [error for error, _ in outcomes] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    assert outcomes[2][1] == "Ignoring duplicate entity ClientQuotaEntity(entries={user=b})"
    assert lab.image.quotas == {(("user", "b"),): {"producer_byte_rate": 1.0}}


def test_validation_alone_changes_nothing() -> None:
    lab = ControllerLab()

    assert alter(lab, entry(USER_A, ("producer_byte_rate", 5.0)), validate_only=True) == [OK]

    assert lab.image.quotas == {}


def test_entities_beyond_one_append_are_refused() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=1))
    change = ("producer_byte_rate", 1.0)

    outcomes = alter(lab, entry(USER_A, change), entry([("user", "b")], change))

    assert [error for error, _ in outcomes] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]


# --- DescribeClientQuotas

IP = (("ip", "1.2.3.4"),)
BOTH = (("client-id", "c"), ("user", None))
DEFAULT_USER = (("user", None),)
A = (("user", "a"),)


@pytest.fixture
def filled() -> ControllerLab:
    lab = ControllerLab()
    alter(lab, entry(list(IP), ("connection_creation_rate", 1.0)))
    for entity in (BOTH, DEFAULT_USER, A):
        alter(lab, entry(list(entity), ("consumer_byte_rate", 99.0)))
    return lab


@pytest.mark.parametrize(
    ("components", "strict", "matching"),
    [
        ([], False, [IP, BOTH, DEFAULT_USER, A]),
        ([], True, []),
        ([("user", EXACT, "a")], False, [A]),
        ([("user", SPECIFIED, None)], False, [BOTH, DEFAULT_USER, A]),
        ([("user", SPECIFIED, None)], True, [DEFAULT_USER, A]),
        ([("user", DEFAULT, None)], False, [BOTH, DEFAULT_USER]),
        ([("user", SPECIFIED, None), ("client-id", SPECIFIED, None)], False, [BOTH]),
        ([("ip", SPECIFIED, None)], False, [IP]),
        ([("ip", EXACT, "bad ip")], False, []),
    ],
)
def test_a_filter_finds(
    filled: ControllerLab,
    components: list[tuple[str, int, str | None]],
    strict: bool,
    matching: list[tuple[tuple[str, str | None], ...]],
) -> None:
    answer = describe(filled, *components, strict=strict)

    assert answer.error_code == ErrorCode.NONE
    assert answer.entries is not None
    found = [
        tuple((part.entity_type, part.entity_name) for part in each.entity)
        for each in answer.entries
    ]
    assert found == matching


def test_the_values_are_told(filled: ControllerLab) -> None:
    answer = describe(filled, ("user", EXACT, "a"))

    assert answer.entries is not None
    assert [(v.key, v.value) for v in answer.entries[0].values] == [("consumer_byte_rate", 99.0)]


@pytest.mark.parametrize(
    ("components", "error", "message"),
    [
        ([("zzz", EXACT, "a")], ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type zzz"),
        ([("", EXACT, "a")], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        (
            [("user", EXACT, None)],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "a")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        ([("user", 5, "a")], ErrorCode.INVALID_REQUEST, "Unknown match type 5"),
        (
            [("user", EXACT, "a"), ("user", EXACT, "b")],
            ErrorCode.INVALID_REQUEST,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("user", EXACT, "a"), ("ip", EXACT, "b")],
            ErrorCode.INVALID_REQUEST,
            (
                "Invalid entity filter component combination. IP filter component should not be "
                "used with user or clientId filter component."
            ),
        ),
    ],
)
def test_a_wrong_filter_is_refused(
    components: list[tuple[str, int, str | None]], error: ErrorCode, message: str
) -> None:
    answer = describe(ControllerLab(), *components)

    assert (answer.error_code, answer.error_message, answer.entries) == (error, message, None)
