"""DescribeUserScramCredentials (key 50), served v0: who has credentials, never the credentials.

No users, or none named, means all of them.
"""

from collections import Counter

from barnabas_controller.managers.scram.mechanism import MECHANISMS
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.keyed_image import ScramImage, ScramKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from barnabas_core.wire.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def decide_describe_user_scram_credentials(
    view: View, request: DescribeUserScramCredentialsRequest, context: Context
) -> Result[DescribeUserScramCredentialsResponse]:
    scram = view.image.scram
    named = Counter(user.name for user in request.users or ())
    users = named or dict.fromkeys((key.user for key in scram), 1)
    results = [_describe(scram, user, count) for user, count in users.items()]
    return Result((), DescribeUserScramCredentialsResponse(results=results))


def _describe(scram: ScramImage, user: str, count: int) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=(
                f"Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{user}"
            ),
        )
    found = {m: scram[ScramKey(user, m)] for m in MECHANISMS if ScramKey(user, m) in scram}
    if not found:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    infos = [
        CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
        for mechanism, credential in found.items()
    ]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
