"""From one image to the next: records are replayed, then applied, once.

`replay` is the only thing that changes metadata, in controllers, brokers and coordinators alike. A
record that does not fit the image is a broken invariant: the log was decided on by somebody who
saw another state, and to go on would spread that.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from barnabas_core.metadata.cluster_image import ClusterDelta
from barnabas_core.metadata.image import Image, Provenance
from barnabas_core.metadata.keyed_image import (
    TOPIC_RESOURCE,
    Acl,
    ConfigResource,
    DelegationToken,
    QuotaEntity,
    ScramCredential,
    ScramKey,
    acl_of,
    credential_of,
    differing,
    replay_config,
    replay_feature,
    replay_quota,
    token_of,
)
from barnabas_core.metadata.topics_image import TopicsDelta
from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.delegation_token_record import DelegationTokenRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from barnabas_core.wire.messages.register_controller_record import RegisterControllerRecord
from barnabas_core.wire.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas_core.wire.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.messages.unfence_broker_record import UnfenceBrokerRecord
from barnabas_core.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from barnabas_core.wire.messages.zk_migration_state_record import ZkMigrationStateRecord
from barnabas_core.wire.schema import Message

K = TypeVar("K")
V = TypeVar("V")


class Delta:
    """What came after `base`. The sub-deltas tell what changed."""

    def __init__(self, base: Image) -> None:
        self.base = base
        self.topics = TopicsDelta(base.topics)
        self.cluster = ClusterDelta(base.cluster)
        self.changed_features: dict[str, None] = {}
        self.changed_configs: dict[ConfigResource, None] = {}
        self.changed_quotas: dict[QuotaEntity, None] = {}
        self._features: dict[str, int] | None = None
        self._configs: dict[ConfigResource, Mapping[str, str]] | None = None
        self._quotas: dict[QuotaEntity, Mapping[str, float]] | None = None
        self._acls: dict[bytes, Acl] | None = None
        self._scram: dict[ScramKey, ScramCredential] | None = None
        self._tokens: dict[str, DelegationToken] | None = None
        self._next_producer_id = base.next_producer_id

    def replay(self, record: Message) -> None:
        _REPLAY[type(record)](self, record)

    def become(self, after: Image) -> None:
        """Lead from the base to an image that was built elsewhere, and tell where they differ.

        A snapshot holds a whole state and says nothing of what went: whoever follows deltas is
        told all the same.
        """
        base = self.base
        self.topics.become(after.topics)
        self.cluster.become(after.cluster)
        self.changed_features = differing(base.features, after.features)
        self.changed_configs = differing(base.configs, after.configs)
        self.changed_quotas = differing(base.quotas, after.quotas)
        self._features = dict(after.features)
        self._configs = dict(after.configs)
        self._quotas = dict(after.quotas)
        self._acls = None if base.acls == after.acls else dict(after.acls)
        self._scram = None if base.scram == after.scram else dict(after.scram)
        self._tokens = None if base.tokens == after.tokens else dict(after.tokens)
        self._next_producer_id = after.next_producer_id

    def apply(self, provenance: Provenance) -> Image:
        base = self.base
        return Image(
            provenance,
            _or(self._features, base.features),
            self.cluster.apply(),
            self.topics.apply(),
            _or(self._configs, base.configs),
            _or(self._quotas, base.quotas),
            self._next_producer_id,
            _or(self._acls, base.acls),
            _or(self._scram, base.scram),
            _or(self._tokens, base.tokens),
        )

    @property
    def acls_changed(self) -> bool:
        return self._acls is not None

    @property
    def scram_changed(self) -> bool:
        return self._scram is not None

    # --- one method per record whose table is here

    def _on_topic(self, record: TopicRecord) -> None:
        self.topics.replay_topic(record)

    def _on_remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self.topics.replay_remove_topic(record)
        resource = ConfigResource(TOPIC_RESOURCE, name)
        if resource in _or(self._configs, self.base.configs):
            del self._open_configs()[resource]
            self.changed_configs[resource] = None

    def _on_feature(self, record: FeatureLevelRecord) -> None:
        if self._features is None:
            self._features = dict(self.base.features)
        replay_feature(self._features, record)
        self.changed_features[record.name] = None

    def _on_config(self, record: ConfigRecord) -> None:
        self.changed_configs[replay_config(self._open_configs(), record)] = None

    def _on_quota(self, record: ClientQuotaRecord) -> None:
        if self._quotas is None:
            self._quotas = dict(self.base.quotas)
        self.changed_quotas[replay_quota(self._quotas, record)] = None

    def _on_producer_ids(self, record: ProducerIdsRecord) -> None:
        assert record.next_producer_id >= self._next_producer_id, "producer ids are given once"
        self._next_producer_id = record.next_producer_id

    def _on_acl(self, record: AccessControlEntryRecord) -> None:
        self._acls = _opened(self._acls, self.base.acls)
        self._acls[record.id] = acl_of(record)

    def _on_remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        self._acls = _opened(self._acls, self.base.acls)
        del self._acls[record.id]

    def _on_scram(self, record: UserScramCredentialRecord) -> None:
        self._scram = _opened(self._scram, self.base.scram)
        self._scram[ScramKey(record.name, record.mechanism)] = credential_of(record)

    def _on_remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        self._scram = _opened(self._scram, self.base.scram)
        del self._scram[ScramKey(record.name, record.mechanism)]

    def _on_token(self, record: DelegationTokenRecord) -> None:
        self._tokens = _opened(self._tokens, self.base.tokens)
        self._tokens[record.token_id] = token_of(record)

    def _on_remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        self._tokens = _opened(self._tokens, self.base.tokens)
        self._tokens.pop(record.token_id, None)

    def _on_nothing(self, record: Message) -> None:
        """Written to move the log, or by releases that came from ZooKeeper."""

    def _open_configs(self) -> dict[ConfigResource, Mapping[str, str]]:
        self._configs = _opened(self._configs, self.base.configs)
        return self._configs


def _opened(current: dict[K, V] | None, base: Mapping[K, V]) -> dict[K, V]:
    return dict(base) if current is None else current


def _or(changed: Mapping[K, V] | None, base: Mapping[K, V]) -> Mapping[K, V]:
    return base if changed is None else changed


_REPLAY: dict[type[Message], Callable[[Delta, Any], None]] = {
    RegisterBrokerRecord: lambda d, r: d.cluster.replay_register_broker(r),
    UnregisterBrokerRecord: lambda d, r: d.cluster.replay_unregister_broker(r),
    FenceBrokerRecord: lambda d, r: d.cluster.replay_fence_broker(r),
    UnfenceBrokerRecord: lambda d, r: d.cluster.replay_unfence_broker(r),
    BrokerRegistrationChangeRecord: lambda d, r: d.cluster.replay_registration_change(r),
    RegisterControllerRecord: lambda d, r: d.cluster.replay_register_controller(r),
    TopicRecord: Delta._on_topic,
    PartitionRecord: lambda d, r: d.topics.replay_partition(r),
    PartitionChangeRecord: lambda d, r: d.topics.replay_partition_change(r),
    ClearElrRecord: lambda d, r: d.topics.replay_clear_elr(r),
    RemoveTopicRecord: Delta._on_remove_topic,
    FeatureLevelRecord: Delta._on_feature,
    ConfigRecord: Delta._on_config,
    ClientQuotaRecord: Delta._on_quota,
    ProducerIdsRecord: Delta._on_producer_ids,
    AccessControlEntryRecord: Delta._on_acl,
    RemoveAccessControlEntryRecord: Delta._on_remove_acl,
    UserScramCredentialRecord: Delta._on_scram,
    RemoveUserScramCredentialRecord: Delta._on_remove_scram,
    DelegationTokenRecord: Delta._on_token,
    RemoveDelegationTokenRecord: Delta._on_remove_token,
    NoOpRecord: Delta._on_nothing,
    ZkMigrationStateRecord: Delta._on_nothing,
}
