"""A log directory on the real disk, opened by our own engine, and everything that is in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.batch import BatchHeader, check_batch, split_batches
from barnabas_core.records.record import Record, iter_records
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.rng import SeededRng
from tests.support.manual_clock import ManualClock

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
NODE_ID = 1


@contextmanager
def open_logs(
    path: Path, config: LogConfig, *, now_ms: int = 1_700_000_000_000, crash: bool = False
) -> Iterator[LogManager]:
    """Closed properly at the end, or left as a process that was killed leaves it."""
    path.mkdir(parents=True, exist_ok=True)
    manager = LogManager(
        LogEnvironment(RealDisk(), SeededRng(1)),
        ManualClock(now_ms),
        [str(path)],
        cluster_id=CLUSTER_ID,
        node_id=NODE_ID,
        config_of=lambda _: config,
    )
    manager.open()
    try:
        yield manager
    finally:
        if crash:
            for directory in manager.directories:
                directory.release()
        else:
            manager.close()


def append(
    log: PartitionLog,
    batch: bytearray,
    *,
    leader_epoch: int = 0,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    now_ms: int = 0,
) -> int:
    """Stage and write one batch, as a leader without followers does; its first offset."""
    appended = log.stage(batch, leader_epoch=leader_epoch, origin=origin, now_ms=now_ms)
    log.write()
    log.advance_high_watermark(log.log_end_offset)
    return appended.first_offset


def read_everything(log: PartitionLog) -> tuple[list[BatchHeader], list[Record]]:
    """All batches in order, their checksums verified, and all records in them."""
    headers: list[BatchHeader] = []
    records: list[Record] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, up_to=log.log_end_offset).bytes()
        for position, header in split_batches(data):
            check_batch(data, position, header)
            headers.append(header)
            records += iter_records(data, position)
            offset = header.next_offset
    return headers, records
