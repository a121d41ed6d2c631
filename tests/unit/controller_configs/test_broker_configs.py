"""Dynamic configs of brokers. Messages and codes are those of Kafka 4.3.1, whichever node asks."""

import pytest

from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.config_record import ConfigRecord
from tests.support.config_requests import APPEND, DELETE, OK, SET, alter_one, configs_of
from tests.support.controller_lab import SETTINGS, ControllerLab

BROKER = BROKER_RESOURCE
INVALID_REQUEST = ErrorCode.INVALID_REQUEST


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    lab.register_broker(1)
    return lab


@pytest.mark.parametrize(
    ("broker", "name", "value"),
    [
        ("1", "log.cleaner.threads", "2"),
        ("", "log.cleaner.threads", "2"),
        ("", "leader.replication.throttled.rate", "5"),
        ("1", "sasl.jaas.config", "x"),
        ("1", "listener.name.plaintext.ssl.keystore.location", "/x"),
        ("1", "listener.name.plaintext.ssl.keystore.password", "secret"),
        ("1", "listener.name.plaintext.scram-sha-256.sasl.jaas.config", "x"),
        ("", "listener.name.plaintext.max.connections", "5"),
        ("1", "a.plugins.own", "/x"),
        ("", "log.retention.ms", "${file:/etc/retention:ms}"),
    ],
)
def test_what_may_be_set_while_brokers_run_is_kept_as_it_was_given(
    lab: ControllerLab, broker: str, name: str, value: str
) -> None:
    assert alter_one(lab, BROKER, broker, (name, SET, value)) == OK

    assert configs_of(lab, BROKER, broker) == {name: value}


@pytest.mark.parametrize(
    ("broker", "name", "value", "message"),
    [
        ("1", "log.dirs", "/x", "Cannot update these configs dynamically: [log.dirs]"),
        (
            "1",
            "internal.listener",
            "h:1",
            "Cannot update these configs dynamically: [internal.listener]",
        ),
        (
            "1",
            "log.cleaner.threads",
            "two",
            "Invalid value two for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            "1",
            "leader.replication.throttled.rate",
            "-5",
            (
                "Invalid value -5 for configuration leader.replication.throttled.rate: "
                "Value must be at least 0"
            ),
        ),
        (
            "1",
            "listener.name.plaintext.max.connections",
            "many",
            "Invalid value many for configuration max.connections: Not a number of type INT",
        ),
        (
            "1",
            "ssl.keystore.location",
            "/x",
            (
                "These security configs can be dynamically updated only per-listener using the "
                "listener prefix: [ssl.keystore.location]"
            ),
        ),
        (
            "",
            "listener.name.plaintext.ssl.keystore.location",
            "/x",
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [listener.name.plaintext.ssl.keystore.location]"
            ),
        ),
        (
            "",
            "listeners",
            "PLAINTEXT://:9999",
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [listeners]"
            ),
        ),
        (
            "",
            "sasl.jaas.config",
            "x",
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [sasl.jaas.config]"
            ),
        ),
    ],
)
def test_what_may_not_be_set_is_refused(
    lab: ControllerLab, broker: str, name: str, value: str, message: str
) -> None:
    outcome = alter_one(lab, BROKER, broker, (name, SET, value))

    assert outcome == (INVALID_REQUEST, message)
    assert lab.records == []


def test_defaults_that_no_log_can_have_are_refused(lab: ControllerLab) -> None:
    lab.set_config(BROKER, "", "log.cleaner.max.compaction.lag.ms", "10")

    outcome = alter_one(lab, BROKER, "1", ("log.cleaner.min.compaction.lag.ms", SET, "100"))

    assert outcome[0] is INVALID_REQUEST
    assert alter_one(lab, BROKER, "", ("log.retention.ms", SET, "0"))[0] is INVALID_REQUEST


def test_what_is_wrong_from_before_does_not_stop_a_change_to_the_rest(lab: ControllerLab) -> None:
    lab.set_config(BROKER, "1", "log.dirs", "/x")
    lab.set_config(BROKER, "1", "log.cleaner.threads", "two")

    assert alter_one(lab, BROKER, "1", ("num.io.threads", SET, "2")) == OK
    assert alter_one(lab, BROKER, "1", ("log.dirs", SET, "/x"))[0] is INVALID_REQUEST
    assert alter_one(lab, BROKER, "1", ("log.dirs", DELETE, None)) == OK


@pytest.mark.parametrize("name", ["min.insync.replicas", "unclean.leader.election.enable"])
def test_what_controllers_obey_themselves_is_no_placeholder(lab: ControllerLab, name: str) -> None:
    assert alter_one(lab, BROKER, "", (name, SET, "${env:X}"))[0] is INVALID_REQUEST


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("9", ErrorCode.BROKER_ID_NOT_REGISTERED, "No node with id 9 found."),
        ("x", INVALID_REQUEST, "Unable to parse broker name as a base 10 number."),
        ("-1", INVALID_REQUEST, "Invalid negative broker ID."),
    ],
)
def test_a_node_that_cannot_be_altered(
    lab: ControllerLab, name: str, error: ErrorCode, message: str
) -> None:
    outcome = alter_one(lab, BROKER, name, ("log.cleaner.threads", SET, "2"))

    assert outcome == (error, message)


def test_a_controller_has_configs_like_a_broker(lab: ControllerLab) -> None:
    own = str(SETTINGS.node_id)

    assert alter_one(lab, BROKER, own, ("num.io.threads", SET, "2")) == OK


def test_the_same_value_is_recorded_again_for_brokers_to_reload(lab: ControllerLab) -> None:
    # KAFKA-14136: the files behind it may have changed.
    name = "listener.name.plaintext.ssl.keystore.location"
    lab.set_config(BROKER, "1", name, "/x")

    assert alter_one(lab, BROKER, "1", (name, SET, "/x")) == OK

    assert [type(record) for record in lab.records] == [ConfigRecord]


def test_a_list_of_brokers_is_appended_to_from_kafkas_default(lab: ControllerLab) -> None:
    assert alter_one(lab, BROKER, "1", ("sasl.enabled.mechanisms", APPEND, "PLAIN")) == OK

    assert configs_of(lab, BROKER, "1") == {"sasl.enabled.mechanisms": "GSSAPI,PLAIN"}


def test_a_number_of_brokers_is_not_appended_to(lab: ControllerLab) -> None:
    message = "Can't APPEND to key log.cleaner.threads because its type is not LIST."

    outcome = alter_one(lab, BROKER, "", ("log.cleaner.threads", APPEND, "1"))

    assert outcome == (ErrorCode.INVALID_CONFIG, message)


def test_cordoned_directories_need_a_metadata_version_that_knows_them() -> None:
    lab = ControllerLab(metadata_level=29)
    lab.register_broker(1)
    message = (
        "The cordoned.log.dirs configuration value cannot be set because it requires "
        "metadata.version >= 4.3-IV0"
    )

    outcome = alter_one(lab, BROKER, "1", ("cordoned.log.dirs", SET, "/data"))

    assert outcome == (ErrorCode.INVALID_CONFIG, message)


# --- KIP-966: one min ISR for all brokers


def test_with_elr_no_broker_has_a_min_isr_of_its_own(lab: ControllerLab) -> None:
    outcome = alter_one(lab, BROKER, "1", ("min.insync.replicas", SET, "2"))

    assert outcome == (
        ErrorCode.INVALID_CONFIG,
        "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
    )


def test_with_elr_the_clusters_min_isr_is_changed_but_not_removed(lab: ControllerLab) -> None:
    assert alter_one(lab, BROKER, "", ("min.insync.replicas", SET, "2")) == OK

    assert alter_one(lab, BROKER, "", ("min.insync.replicas", DELETE, None)) == (
        ErrorCode.INVALID_CONFIG,
        "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
    )


def test_a_new_min_isr_of_all_brokers_makes_every_topic_forget_its_elr(lab: ControllerLab) -> None:
    alter_one(lab, BROKER, "", ("min.insync.replicas", SET, "2"))

    assert [r.topic_name for r in lab.records if isinstance(r, ClearElrRecord)] == [""]


def test_a_new_min_isr_of_a_topic_makes_that_one_forget_its_elr(lab: ControllerLab) -> None:
    lab.create_topic("t", {0: [1]})

    assert alter_one(lab, 2, "t", ("min.insync.replicas", SET, "2")) == OK

    assert [r.topic_name for r in lab.records if isinstance(r, ClearElrRecord)] == ["t"]


def test_without_elr_a_broker_may_have_its_own_and_nothing_is_forgotten() -> None:
    lab = ControllerLab(features={})
    lab.register_broker(1)

    assert alter_one(lab, BROKER, "1", ("min.insync.replicas", SET, "2")) == OK
    assert alter_one(lab, BROKER, "", ("min.insync.replicas", DELETE, None)) == OK

    assert not any(isinstance(record, ClearElrRecord) for record in lab.records)
