"""The plain tables of the image: features, configs, quotas, ACLs, SCRAM credentials, tokens.

Each is a mapping that a delta copies on its first change and replaces in the next image.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias, TypeVar

from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.delegation_token_record import DelegationTokenRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord

K = TypeVar("K")
V = TypeVar("V")

KRAFT_VERSION: Final = "kraft.version"


class ConfigResource(NamedTuple):
    """Whose configuration: the type has Kafka's code, an empty broker name is the default."""

    type: int
    name: str


TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""(entity type, name or None for the default), sorted by type."""


class Acl(NamedTuple):
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class ScramKey(NamedTuple):
    user: str
    mechanism: int


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class DelegationToken(NamedTuple):
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_at_ms: int
    max_at_ms: int
    expiration_at_ms: int


FeaturesImage: TypeAlias = Mapping[str, int]
ConfigsImage: TypeAlias = Mapping[ConfigResource, Mapping[str, str]]
QuotasImage: TypeAlias = Mapping[QuotaEntity, Mapping[str, float]]
AclsImage: TypeAlias = Mapping[bytes, Acl]
ScramImage: TypeAlias = Mapping[ScramKey, ScramCredential]
TokensImage: TypeAlias = Mapping[str, DelegationToken]


def differing(before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, None]:
    """The keys of what is gone, new, or not the same."""
    gone = [key for key in before if key not in after]
    changed = [key for key, value in after.items() if before.get(key) != value]
    return dict.fromkeys((*gone, *changed))


def replay_feature(features: dict[str, int], record: FeatureLevelRecord) -> None:
    # kraft.version is told by control records of the quorum; older releases wrote it here too.
    if record.name == KRAFT_VERSION:
        return
    if record.feature_level == 0:
        features.pop(record.name, None)
    else:
        features[record.name] = record.feature_level


def replay_config(
    configs: dict[ConfigResource, Mapping[str, str]], record: ConfigRecord
) -> ConfigResource:
    resource = ConfigResource(record.resource_type, record.resource_name)
    values = dict(configs.get(resource, {}))
    if record.value is None:
        values.pop(record.name, None)
    else:
        values[record.name] = record.value
    if values:
        configs[resource] = values
    else:
        configs.pop(resource, None)
    return resource


def replay_quota(
    quotas: dict[QuotaEntity, Mapping[str, float]], record: ClientQuotaRecord
) -> QuotaEntity:
    entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
    values = dict(quotas.get(entity, {}))
    if record.remove:
        values.pop(record.key, None)
    else:
        values[record.key] = record.value
    if values:
        quotas[entity] = values
    else:
        quotas.pop(entity, None)
    return entity


def acl_of(record: AccessControlEntryRecord) -> Acl:
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def credential_of(record: UserScramCredentialRecord) -> ScramCredential:
    return ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)


def token_of(record: DelegationTokenRecord) -> DelegationToken:
    return DelegationToken(
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )
