"""SCRAM credentials. Messages and codes are those of Kafka 4.3.1, but where it says not."""

import base64
import hashlib
from dataclasses import replace

import pytest

from barnabas_controller.managers.scram.alter_user_scram_credentials import (
    decide_alter_user_scram_credentials,
)
from barnabas_controller.managers.scram.describe_user_scram_credentials import (
    decide_describe_user_scram_credentials,
)
from barnabas_controller.managers.scram.mechanism import MECHANISMS
from barnabas_core.metadata.keyed_image import ScramCredential, ScramKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas_core.wire.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.support.controller_lab import SETTINGS, ControllerLab

SHA_256, SHA_512 = 1, 2
TWICE = (
    ErrorCode.DUPLICATE_RESOURCE,
    "A user credential cannot be altered twice in the same request",
)
OK = (ErrorCode.NONE, None)


def upsertion(
    user: str = "u",
    mechanism: int = SHA_256,
    iterations: int = 4096,
    salted_password: bytes = b"p" * 32,
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=salted_password,
    )


def deletion(user: str = "u", mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(
    lab: ControllerLab, *changes: ScramCredentialUpsertion | ScramCredentialDeletion
) -> dict[str, tuple[ErrorCode, str | None]]:
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )
    results = lab.decide(decide_alter_user_scram_credentials, request).results
    assert len({each.user for each in results}) == len(results)
    return {each.user: (ErrorCode(each.error_code), each.error_message) for each in results}


def test_the_keys_are_those_of_the_example_in_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    mechanism = MECHANISMS[SHA_256]

    # The server's signature in the example is made with this server key.
    stored, server = mechanism.stored_key(salted), mechanism.server_key(salted)

    assert base64.b64encode(stored) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(server) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


def test_of_a_password_only_the_keys_are_kept() -> None:
    lab = ControllerLab()

    assert alter(lab, upsertion(mechanism=SHA_512, salted_password=b"p" * 64)) == {"u": OK}

    mechanism = MECHANISMS[SHA_512]
    assert lab.image.scram == {
        ScramKey("u", SHA_512): ScramCredential(
            b"salt", mechanism.stored_key(b"p" * 64), mechanism.server_key(b"p" * 64), 4096
        )
    }


def test_a_credential_is_replaced_and_deleted_by_mechanism() -> None:
    lab = ControllerLab()
    alter(lab, upsertion())
    alter(lab, upsertion(mechanism=SHA_512))

    assert alter(lab, upsertion(iterations=8192)) == {"u": OK}
    assert lab.image.scram[ScramKey("u", SHA_256)].iterations == 8192

    assert alter(lab, deletion()) == {"u": OK}
    assert list(lab.image.scram) == [ScramKey("u", SHA_512)]


@pytest.mark.parametrize(
    "changes",
    [
        [upsertion(), upsertion()],
        [upsertion(mechanism=SHA_256), upsertion(mechanism=SHA_512)],
        [deletion(), upsertion()],
        [deletion(mechanism=SHA_256), deletion(mechanism=SHA_512)],
        [upsertion(), upsertion(), upsertion()],
    ],
)
def test_a_user_is_altered_once(
    changes: list[ScramCredentialUpsertion | ScramCredentialDeletion],
) -> None:
    lab = ControllerLab()
    alter(lab, upsertion())
    alter(lab, upsertion(mechanism=SHA_512))

    assert alter(lab, *changes) == {"u": TWICE}

    assert lab.records == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            deletion("zz"),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
        (deletion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (deletion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        # Kafka answers UNKNOWN_SERVER_ERROR.
        (
            upsertion(salted_password=b""),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Salted password must not be empty",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_rest_is_done(
    change: ScramCredentialUpsertion | ScramCredentialDeletion, error: ErrorCode, message: str
) -> None:
    lab = ControllerLab()

    outcomes = alter(lab, change, upsertion("other", iterations=16384))

    assert outcomes == {change.name: (error, message), "other": OK}
    assert list(lab.image.scram) == [ScramKey("other", SHA_256)]


def test_an_old_metadata_version_knows_no_credentials() -> None:
    lab = ControllerLab(metadata_level=10, features={})

    assert alter(lab, upsertion()) == {
        "u": (ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
    }


def test_more_than_one_append_holds_is_refused_whole() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=1))

    outcomes = alter(lab, upsertion("a"), upsertion("b"))

    assert {error for error, _ in outcomes.values()} == {ErrorCode.POLICY_VIOLATION}
    assert lab.records == []


# --- DescribeUserScramCredentials


def describe(
    lab: ControllerLab, users: list[str] | None
) -> list[tuple[str, int, str | None, list[tuple[int, int]]]]:
    asked = None if users is None else [UserName(name=user) for user in users]
    request = DescribeUserScramCredentialsRequest(users=asked)
    answer = lab.decide(decide_describe_user_scram_credentials, request)
    assert answer.error_code == ErrorCode.NONE
    return [
        (
            each.user,
            each.error_code,
            each.error_message,
            [(info.mechanism, info.iterations) for info in each.credential_infos],
        )
        for each in answer.results
    ]


@pytest.fixture
def filled() -> ControllerLab:
    lab = ControllerLab()
    alter(lab, upsertion(mechanism=SHA_512), upsertion("w", iterations=5000))
    alter(lab, upsertion())
    return lab


U = ("u", 0, "", [(SHA_256, 4096), (SHA_512, 4096)])
W = ("w", 0, "", [(SHA_256, 5000)])


@pytest.mark.parametrize("nobody", [None, []])
def test_everybody_is_described_if_nobody_is_named(
    filled: ControllerLab, nobody: list[str] | None
) -> None:
    assert describe(filled, nobody) == [U, W]


def test_those_named_are_described_in_their_order(filled: ControllerLab) -> None:
    assert describe(filled, ["w", "nope", "u"]) == [
        W,
        (
            "nope",
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to describe a user credential that does not exist: nope",
            [],
        ),
        U,
    ]


def test_a_user_is_described_once(filled: ControllerLab) -> None:
    assert describe(filled, ["u", "u"]) == [
        (
            "u",
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: u",
            [],
        )
    ]
