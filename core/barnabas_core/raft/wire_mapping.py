"""The quorum's messages as the bodies of Kafka's requests and answers: key, version, bytes.

Each request goes out at the version below, the newest of the protocol table. Whoever names another
cluster is answered with INCONSISTENT_CLUSTER_ID, and the core does not hear of it.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from barnabas_core.ports.disk import Buffer
from barnabas_core.raft import message as m
from barnabas_core.raft.internal_address import INTERNAL_PORT_OFFSET
from barnabas_core.raft.wire_request import Arrival, BadRequest, request_of_wire, request_to_wire
from barnabas_core.raft.wire_response import response_of_wire, response_to_wire
from barnabas_core.records.error import CorruptBatch
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import WireError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

VERSIONS: dict[ApiKey, int] = {
    ApiKey.VOTE: 2,
    ApiKey.BEGIN_QUORUM_EPOCH: 1,
    ApiKey.END_QUORUM_EPOCH: 1,
    ApiKey.FETCH: 18,
    ApiKey.FETCH_SNAPSHOT: 1,
    ApiKey.ADD_RAFT_VOTER: 1,
    ApiKey.REMOVE_RAFT_VOTER: 0,
    ApiKey.UPDATE_RAFT_VOTER: 0,
    ApiKey.API_VERSIONS: 5,
}
_KEYS: dict[type[Any], ApiKey] = {
    m.VoteRequest: ApiKey.VOTE,
    m.BeginQuorumEpochRequest: ApiKey.BEGIN_QUORUM_EPOCH,
    m.EndQuorumEpochRequest: ApiKey.END_QUORUM_EPOCH,
    m.FetchRequest: ApiKey.FETCH,
    m.FetchSnapshotRequest: ApiKey.FETCH_SNAPSHOT,
    m.AddVoterRequest: ApiKey.ADD_RAFT_VOTER,
    m.RemoveVoterRequest: ApiKey.REMOVE_RAFT_VOTER,
    m.UpdateVoterRequest: ApiKey.UPDATE_RAFT_VOTER,
    m.VersionsRequest: ApiKey.API_VERSIONS,
}


class BadMessage(Exception):
    """Bytes that are no message of the quorum: whoever sent them gets no answer."""


class Refusal(Exception):
    """A request that is answered without asking the core."""

    def __init__(self, body: bytes, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.body = body
        self.error = error


class EncodedRequest(NamedTuple):
    api_key: int
    api_version: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMapping:
    cluster_id: str
    port_offset: int = INTERNAL_PORT_OFFSET
    change_timeout_ms: int = 5_000
    """Of a change of the voters whose request has no place for a timeout."""

    def encode_request(self, request: m.Request) -> EncodedRequest:
        key = _KEYS[type(request)]
        version = VERSIONS[key]
        body = encode(request_to_wire(request, self.cluster_id), version)
        return EncodedRequest(key, version, body)

    def decode_request(
        self, api_key: int, api_version: int, body: Buffer, correlation: int
    ) -> m.Request:
        """Raises `BadMessage`, or `Refusal` with the answer."""
        message = _decode_request(api_key, api_version, body)
        cluster_id = getattr(message, "cluster_id", None)
        if cluster_id not in (None, "", self.cluster_id):
            raise _refusal(api_key, api_version, ErrorCode.INCONSISTENT_CLUSTER_ID)
        try:
            return request_of_wire(message, Arrival(correlation, self.change_timeout_ms))
        except BadRequest as error:
            raise _refusal(api_key, api_version, ErrorCode.INVALID_REQUEST) from error

    def encode_response(self, request: m.Request, response: m.Response) -> bytes:
        version = VERSIONS[_KEYS[type(request)]]
        return encode(response_to_wire(request, response, self.port_offset), version)

    def decode_response(self, request: m.Request, body: Buffer) -> m.Response:
        """The answer to `request`, with its correlation; `BadMessage` if it is none."""
        key = _KEYS[type(request)]
        try:
            message = decode(API_BY_KEY[key].response, VERSIONS[key], body)
            return response_of_wire(request, message)
        except (WireError, BadRequest, CorruptBatch) as error:
            raise BadMessage(f"answer to {key.name}: {error}") from error


def _decode_request(api_key: int, api_version: int, body: Buffer) -> Message:
    # An `ApiKey` is its number, so this finds any that the quorum serves.
    if VERSIONS.get(cast("ApiKey", api_key)) != api_version:
        raise BadMessage(f"no version {api_version} of api key {api_key} here")
    try:
        return decode(API_BY_KEY[ApiKey(api_key)].request, api_version, body)
    except WireError as error:
        raise BadMessage(f"api key {api_key}: {error}") from error


def _refusal(api_key: int, api_version: int, error: ErrorCode) -> Refusal:
    response: Any = API_BY_KEY[ApiKey(api_key)].response()
    response.error_code = int(error)
    return Refusal(encode(response, api_version), error)


def with_correlation(request: m.Request, correlation: int) -> m.Request:
    return replace(request, correlation=correlation)
