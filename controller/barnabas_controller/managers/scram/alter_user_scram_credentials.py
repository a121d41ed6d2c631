"""AlterUserScramCredentials (key 51), served v0: credentials set and deleted, user by user.

A user may be altered once in a request, whatever the mechanism; answers are one for each user:
first what was deleted, then what was set, then what was refused.
"""

from barnabas_controller.managers.refusal import Refusal
from barnabas_controller.managers.scram.mechanism import ITERATIONS_MAX, MECHANISMS
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.feature import is_record_supported
from barnabas_core.metadata.keyed_image import ScramKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas_core.wire.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas_core.wire.messages.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from barnabas_core.wire.schema import Message

_TWICE = Refusal(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)
_TOO_MANY = Refusal(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)
_TOO_OLD = Refusal(
    ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
)


def decide_alter_user_scram_credentials(
    view: View, request: AlterUserScramCredentialsRequest, context: Context
) -> Result[AlterUserScramCredentialsResponse]:
    if len(request.deletions) + len(request.upsertions) > view.settings.max_records_per_decision:
        return Result((), _refuse_all(request))
    records: dict[str, Message] = {}
    refused: dict[str, Refusal] = {}
    for deletion in request.deletions:
        _note(records, refused, deletion.name, _decide_deletion(view, deletion))
    for upsertion in request.upsertions:
        _note(records, refused, upsertion.name, _decide_upsertion(view, upsertion))
    results = [_result(user, Refusal(ErrorCode.NONE, None)) for user in records]
    results += [_result(user, refusal) for user, refusal in refused.items()]
    return Result(list(records.values()), AlterUserScramCredentialsResponse(results=results))


def _refuse_all(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    asked = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    results = [_result(user, _TOO_MANY) for user in dict.fromkeys(asked)]
    return AlterUserScramCredentialsResponse(results=results)


def _note(
    records: dict[str, Message],
    refused: dict[str, Refusal],
    user: str,
    outcome: Message | Refusal,
) -> None:
    """The first refusal of a user stands; a second change undoes the first."""
    if user in refused:
        return
    if records.pop(user, None) is not None:
        outcome = _TWICE
    if isinstance(outcome, Refusal):
        refused[user] = outcome
    else:
        records[user] = outcome


def _decide_deletion(view: View, deletion: ScramCredentialDeletion) -> Message | Refusal:
    refusal = _refuse_key(view, deletion.name, deletion.mechanism)
    if refusal is not None:
        return refusal
    if ScramKey(deletion.name, deletion.mechanism) not in view.image.scram:
        message = "Attempt to delete a user credential that does not exist"
        return Refusal(ErrorCode.RESOURCE_NOT_FOUND, message)
    return RemoveUserScramCredentialRecord(name=deletion.name, mechanism=deletion.mechanism)


def _decide_upsertion(view: View, upsertion: ScramCredentialUpsertion) -> Message | Refusal:
    refusal = _refuse_key(view, upsertion.name, upsertion.mechanism)
    if refusal is not None:
        return refusal
    mechanism = MECHANISMS[upsertion.mechanism]
    if upsertion.iterations < mechanism.iterations_min:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > ITERATIONS_MAX:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not upsertion.salted_password:
        message = "Salted password must not be empty"
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, message)
    return UserScramCredentialRecord(
        name=upsertion.name,
        mechanism=upsertion.mechanism,
        salt=upsertion.salt,
        stored_key=mechanism.stored_key(upsertion.salted_password),
        server_key=mechanism.server_key(upsertion.salted_password),
        iterations=upsertion.iterations,
    )


def _refuse_key(view: View, user: str, mechanism: int) -> Refusal | None:
    if not is_record_supported("UserScramCredentialRecord", view.image.metadata_level):
        return _TOO_OLD
    if not user:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in MECHANISMS:
        return Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return None


def _result(user: str, refusal: Refusal) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(
        user=user, error_code=refusal.error, error_message=refusal.message
    )
