"""A partition's log on a disk in memory, and batches for it."""

from typing import TypedDict, Unpack

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.load import create_partition, load_partition
from barnabas_core.log.partition_log import Appended, PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import Disk
from barnabas_core.records.batch import BatchHeader, check_batch, split_batches
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.runtime.rng import SeededRng
from tests.support.fake_disk import FakeDisk

DIR = "/logs/orders-0"
TOPIC_ID = bytes(range(16))
NOW_MS = 1_700_000_000_000
SMALL = LogConfig(segment_bytes=2000, index_interval_bytes=200)


def new_disk(seed: int = 0) -> FakeDisk:
    disk = FakeDisk(seed)
    disk.make_dirs("/logs")
    disk.sync_dir("/")
    return disk


def new_environment(disk: Disk | None = None) -> LogEnvironment:
    return LogEnvironment(disk or new_disk(), SeededRng(1), producer_expiration_ms=2**62)


def new_log(
    config: LogConfig | None = None, environment: LogEnvironment | None = None
) -> PartitionLog:
    environment = environment or new_environment()
    loaded = create_partition(environment.disk, DIR, "orders", 0, TOPIC_ID, NOW_MS)
    return PartitionLog(environment, loaded, config or LogConfig(), NOW_MS)


def reopened(log: PartitionLog, config: LogConfig | None = None) -> PartitionLog:
    """Closed properly and opened again, as another process would."""
    disk = environment_of(log).disk
    log.close(NOW_MS)
    return opened(disk, config or log.config)


def opened(disk: Disk, config: LogConfig | None = None) -> PartitionLog:
    loaded = load_partition(disk, DIR, "orders", 0)
    log = PartitionLog(new_environment(disk), loaded, config or LogConfig(), NOW_MS)
    log.advance_high_watermark(log.log_end_offset)
    return log


def environment_of(log: PartitionLog) -> LogEnvironment:
    return log._environment


def disk_of(log: PartitionLog) -> FakeDisk:
    disk = environment_of(log).disk
    assert isinstance(disk, FakeDisk)
    return disk


class BatchFields(TypedDict, total=False):
    """What else `build_batch` takes."""

    base_offset: int
    leader_epoch: int
    compression: Compression
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool


def batch_of(
    count: int = 1,
    *,
    value: bytes = b"value",
    timestamp_ms: int = NOW_MS,
    **fields: Unpack[BatchFields],
) -> bytearray:
    records: list[tuple[bytes | None, bytes | None]] = [(b"key", value)] * count
    return build_batch(records, timestamp_ms=timestamp_ms, **fields)


def produced(
    sequence: int,
    *,
    count: int = 1,
    value: bytes = b"value",
    **fields: Unpack[BatchFields],
) -> bytearray:
    """A batch of an idempotent producer."""
    fields.setdefault("producer_id", 7)
    fields["producer_epoch"] = 0
    fields["base_sequence"] = sequence
    return batch_of(count, value=value, **fields)


def stage(log: PartitionLog, batch: bytearray, *, epoch: int = 0, now_ms: int = NOW_MS) -> Appended:
    return log.stage(batch, leader_epoch=epoch, origin=AppendOrigin.CLIENT, now_ms=now_ms)


def append(
    log: PartitionLog, batch: bytearray, *, epoch: int = 0, now_ms: int = NOW_MS
) -> Appended:
    """Stage, write, and let everybody see it."""
    appended = stage(log, batch, epoch=epoch, now_ms=now_ms)
    log.write()
    log.advance_high_watermark(log.log_end_offset)
    return appended


def fill(log: PartitionLog, segment_count: int) -> None:
    """Append until there are so many segments."""
    while len(log.segments) < segment_count:
        append(log, batch_of(2, value=b"x" * 100, timestamp_ms=NOW_MS + log.log_end_offset))


def headers_in(data: bytes) -> list[BatchHeader]:
    headers = []
    for position, header in split_batches(data, allow_partial_tail=True):
        check_batch(data, position, header)
        headers.append(header)
    return headers


def read_all(log: PartitionLog) -> list[BatchHeader]:
    headers: list[BatchHeader] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        headers += headers_in(log.read(offset, 1 << 20, up_to=log.log_end_offset).bytes())
        offset = headers[-1].next_offset
    return headers
