"""What a broker does when the metadata change its properties."""

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas_broker.dynamic_config import DynamicConfig
from barnabas_broker.live_settings import LiveSettings
from barnabas_broker.replicas.topic_configs import TopicConfigs
from barnabas_core.config.error import ConfigError
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.manager import LogManager
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas_core.runtime.cleaner_task import CleanerTask
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.server.connection_quota import ConnectionLimits, ConnectionQuota
from barnabas_core.wire.messages.config_record import ConfigRecord
from tests.support.cluster_image import replayed
from tests.support.manual_clock import ManualClock

EVERY_BROKER, THIS_BROKER, ANOTHER_BROKER = "", "1", "2"


def changed(
    base: Image, resource: str, values: Mapping[str, str | None], *, kind: int = BROKER_RESOURCE
) -> Image:
    """The image after a few configs of one resource are set, or taken away (None)."""
    records = [
        ConfigRecord(kind, resource, name.replace("_", "."), value)
        for name, value in values.items()
    ]
    return replayed(records, base)[1]


class Bench:
    """The live parts of broker 1, whose file says `static`."""

    def __init__(self, static: Mapping[str, str] | None = None) -> None:
        self.lines = io.StringIO()
        static = static or {}
        self.config = DynamicConfig(1, static, EventLog(stream=self.lines))
        self.quota = ConnectionQuota(ConnectionLimits.from_broker(static))
        self.environment = LogEnvironment(RealDisk(), SeededRng(1))
        self.live = LiveSettings(self.config, self.quota, self.environment, None)
        self.topics = TopicConfigs(1, static)
        self.image = EMPTY_IMAGE

    def change(self, resource: str = EVERY_BROKER, **values: str | None) -> None:
        self.image = changed(self.image, resource, values)
        self.config.update(self.image)
        self.topics.update(self.image)


def test_connection_limits_change_while_the_broker_runs() -> None:
    bench = Bench({"max.connections": "9"})

    bench.change(max_connections="3", max_connections_per_ip="2", max_connection_creation_rate="7")
    limits = bench.quota.limits
    assert (limits.count_max, limits.address_count_max, limits.rate_max) == (3, 2, 7)
    bench.change(
        max_connections=None, max_connections_per_ip=None, max_connection_creation_rate=None
    )
    assert bench.quota.limits == ConnectionLimits(count_max=9)


def test_what_is_set_for_one_broker_comes_before_what_is_set_for_all() -> None:
    bench = Bench()

    bench.change(EVERY_BROKER, max_connections="5")
    bench.change(ANOTHER_BROKER, max_connections="6")
    assert bench.quota.limits.count_max == 5
    bench.change(THIS_BROKER, max_connections="7")
    assert bench.quota.limits.count_max == 7
    bench.change(THIS_BROKER, max_connections=None)
    assert bench.quota.limits.count_max == 5


def test_producers_are_forgotten_after_the_new_time() -> None:
    bench = Bench()

    bench.change(producer_id_expiration_ms="5000")
    assert bench.environment.producer_expiration_ms == 5_000
    bench.change(producer_id_expiration_ms=None)
    assert bench.environment.producer_expiration_ms == 86_400_000


def test_the_cleaner_is_told_of_new_settings() -> None:
    bench = Bench()
    bench.change(log_cleaner_backoff_ms="5")
    # It is made some time after the broker has started.
    settings = bench.live.cleaner_settings
    assert settings == CleanerSettings(backoff_ms=5)
    logs = LogManager(
        bench.environment, ManualClock(), ["/d"], cluster_id="c", node_id=1,
        config_of=bench.topics.of,
    )  # fmt: skip
    executor = SystemExecutor()
    cleaner = CleanerTask(logs, executor, ManualClock(), EventLog(), settings)
    bench.live.watch_cleaner(cleaner)

    bench.change(
        log_cleaner_dedupe_buffer_size="9000000",
        log_cleaner_io_buffer_load_factor="0.5",
        log_cleaner_io_buffer_size="4096",
        log_cleaner_io_max_bytes_per_second="1000",
    )
    executor.close()

    assert cleaner.settings == CleanerSettings(
        backoff_ms=5,
        dedupe_buffer_bytes=9_000_000,
        load_factor=0.5,
        io_buffer_bytes=4096,
        io_bytes_per_second=1000.0,
    )


def test_defaults_of_topics_change_while_the_broker_runs() -> None:
    bench = Bench({"log.retention.ms": "5"})

    bench.change(message_max_bytes="1000", log_retention_hours="1")

    config = bench.topics.of("any")
    assert (config.max_message_bytes, config.retention_ms) == (1000, 3_600_000)


def test_cordoned_directories_are_told_to_the_controller(tmp_path: Path) -> None:
    bench = Bench()
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    logs = LogManager(
        bench.environment, ManualClock(), paths, cluster_id="c", node_id=1,
        config_of=bench.topics.of,
    )  # fmt: skip
    logs.open()
    ids = [directory.id for directory in logs.directories]

    assert bench.live.cordoned_directories(logs.directories) == []
    bench.change(THIS_BROKER, cordoned_log_dirs=paths[1])
    assert bench.live.cordoned_directories(logs.directories) == [ids[1]]
    bench.change(THIS_BROKER, cordoned_log_dirs="*")
    assert bench.live.cordoned_directories(logs.directories) == ids
    logs.close()


def test_a_part_that_cannot_use_a_value_stays_as_it_was_and_the_others_go_on() -> None:
    bench = Bench()
    bench.change(max_connections_per_ip_overrides="192.0.2.1:5")

    bench.change(max_connections_per_ip_overrides="no.address:5", producer_id_expiration_ms="7000")

    assert bench.quota.limits.address_overrides == {"192.0.2.1": 5}
    assert bench.environment.producer_expiration_ms == 7_000
    assert "settings stay as they were" in bench.lines.getvalue()
    assert "max.connections.per.ip.overrides" in bench.lines.getvalue()


def test_defaults_that_do_not_fit_the_file_leave_topics_as_they_were() -> None:
    bench = Bench({"log.cleaner.min.compaction.lag.ms": "100"})

    bench.change(log_cleaner_max_compaction_lag_ms="50", message_max_bytes="7")

    assert bench.topics.of("any").max_message_bytes != 7
    assert "defaults of topics" in bench.lines.getvalue()


def test_a_topic_that_does_not_fit_new_defaults_keeps_its_own_configs() -> None:
    bench = Bench()
    bench.image = changed(
        bench.image, "slow", {"min.compaction.lag.ms": "100"}, kind=TOPIC_RESOURCE
    )
    bench.change(log_cleaner_max_compaction_lag_ms="50")

    assert bench.topics.of("slow").min_compaction_lag_ms == 100


def test_a_secret_that_is_kept_elsewhere_disturbs_nobody() -> None:
    bench = Bench()

    bench.change(THIS_BROKER, max_connections="${file:/secret:count}")

    assert bench.quota.limits == ConnectionLimits()


def test_what_has_no_effect_yet_is_told_of_when_it_is_set() -> None:
    bench = Bench()

    bench.change(remote_log_reader_threads="3")

    assert "remote.log.reader.threads: no effect yet: tiered storage" in bench.lines.getvalue()


def test_nobody_is_bothered_by_configs_of_topics_or_other_brokers() -> None:
    bench = Bench()
    calls: list[Mapping[str, str]] = []
    bench.config.add("a part", calls.append)

    bench.image = changed(bench.image, "topic", {"retention.ms": "1"}, kind=TOPIC_RESOURCE)
    bench.config.update(bench.image)
    bench.change(ANOTHER_BROKER, max_connections="1")
    assert calls == []
    bench.change(THIS_BROKER, max_connections="1")
    assert calls == [{"max.connections": "1"}]
    bench.config.update(bench.image)
    assert len(calls) == 1


def test_a_part_is_applied_whole_or_not_at_all() -> None:
    def refuse(properties: Mapping[str, str]) -> None:
        raise ConfigError("never")

    bench = Bench()
    bench.config.add("a stubborn part", refuse)
    bench.change(max_connections="1")

    assert bench.quota.limits.count_max == 1
    assert "a stubborn part" in bench.lines.getvalue()
    with pytest.raises(AssertionError):
        bench.config.add("a stubborn part", refuse)
