"""What a leader refuses, and what it changes in what it takes."""

from dataclasses import replace

import pytest

from barnabas_core.log.error import AppendError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.batch import LOG_APPEND_TIME, check_batch, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import iter_records
from barnabas_core.wire.error_code import ErrorCode
from tests.support.small_log import (
    NOW_MS,
    append,
    batch_of,
    headers_in,
    new_log,
    produced,
    read_all,
    stage,
)


def refusal(log: PartitionLog, batch: bytearray) -> ErrorCode:
    """The code with which a batch is refused; the log must be as before."""
    before = log.staged_end_offset, log.segments[-1].staged_bytes, log.producers.snapshot()
    with pytest.raises(AppendError) as caught:
        stage(log, batch)
    after = log.staged_end_offset, log.segments[-1].staged_bytes, log.producers.snapshot()
    assert after == before
    assert log.begin_write() is None
    return caught.value.error_code


def test_a_damaged_batch_is_refused() -> None:
    batch = batch_of()
    batch[-1] ^= 1

    assert refusal(new_log(), batch) is ErrorCode.CORRUPT_MESSAGE


def test_half_a_batch_is_refused() -> None:
    assert refusal(new_log(), batch_of()[:-1]) is ErrorCode.CORRUPT_MESSAGE


def test_nothing_at_all_is_refused() -> None:
    assert refusal(new_log(), bytearray()) is ErrorCode.INVALID_RECORD


def test_a_batch_above_the_maximum_is_refused() -> None:
    log = new_log(LogConfig(max_message_bytes=100))

    assert refusal(log, batch_of(value=bytes(100))) is ErrorCode.MESSAGE_TOO_LARGE


def test_batches_larger_than_a_segment_are_refused() -> None:
    log = new_log(LogConfig(segment_bytes=100))

    assert refusal(log, batch_of(value=bytes(100))) is ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("ahead_ms", [3_600_001, -2001])
def test_a_timestamp_too_far_from_now_is_refused(ahead_ms: int) -> None:
    log = new_log(LogConfig(message_timestamp_before_max_ms=2000))

    code = refusal(log, batch_of(timestamp_ms=NOW_MS + ahead_ms))

    assert code is ErrorCode.INVALID_TIMESTAMP


def test_records_without_a_timestamp_are_taken() -> None:
    log = new_log(LogConfig(message_timestamp_before_max_ms=2000))

    assert stage(log, batch_of(timestamp_ms=-1)).first_offset == 0


def test_a_producer_may_not_claim_the_log_s_time() -> None:
    batch = build_batch([(b"k", b"v")], append_time_ms=NOW_MS)

    assert refusal(new_log(), batch) is ErrorCode.INVALID_TIMESTAMP


def test_a_client_may_not_write_control_records() -> None:
    batch = end_transaction_batch(
        commit=True, coordinator_epoch=0, producer_id=1, producer_epoch=0, timestamp_ms=NOW_MS
    )

    assert refusal(new_log(), batch) is ErrorCode.INVALID_RECORD


def test_a_compacted_topic_needs_keys() -> None:
    log = new_log(LogConfig(cleanup_compact=True))

    keyless = build_batch([(b"k", b"v"), (None, b"v")], timestamp_ms=NOW_MS)

    assert refusal(log, keyless) is ErrorCode.INVALID_RECORD
    assert stage(log, batch_of()).first_offset == 0


def test_a_sequence_out_of_order_is_refused() -> None:
    log = new_log()
    append(log, produced(0, count=2))

    assert refusal(log, produced(5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_one_bad_batch_of_several_refuses_them_all() -> None:
    log = new_log()
    append(log, produced(0))

    code = refusal(log, produced(1) + produced(7))

    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_offsets_and_epoch_are_put_into_every_batch() -> None:
    log = new_log()
    append(log, batch_of(3), epoch=4)

    buffer = batch_of(2) + batch_of(1)
    appended = append(log, buffer, epoch=5)

    headers = headers_in(bytes(buffer))
    assert [(it.base_offset, it.partition_leader_epoch) for it in headers] == [(3, 5), (5, 5)]
    assert (appended.first_offset, appended.last_offset, appended.record_count) == (3, 5, 3)


def test_a_client_counts_from_zero() -> None:
    log = new_log()

    with pytest.raises(AppendError) as refused:
        append(log, batch_of(2, base_offset=77))

    assert refused.value.error_code is ErrorCode.INVALID_RECORD
    assert log.staged_end_offset == 0


def test_log_append_time_stamps_the_batch() -> None:
    log = new_log(LogConfig(message_timestamp_type="LogAppendTime"))

    appended = append(log, batch_of(2, timestamp_ms=5), now_ms=NOW_MS + 9)

    (header,) = read_all(log)
    assert header.attributes & LOG_APPEND_TIME
    assert header.max_timestamp == appended.log_append_time_ms == NOW_MS + 9


@pytest.mark.parametrize(
    ("kind", "codec"),
    [("uncompressed", Compression.NONE), ("zstd", Compression.ZSTD), ("gzip", Compression.GZIP)],
)
def test_batches_of_another_codec_are_compressed_again(kind: str, codec: Compression) -> None:
    log = new_log(LogConfig(compression_type=kind))
    original = produced(0, count=3, value=bytes(500), compression=Compression.LZ4)

    append(log, original + produced(3, value=b"small", compression=codec))

    data = log.read(0, 10_000, up_to=4).bytes()
    first, second = headers_in(data)
    assert [first.compression, second.compression] == [codec, codec]
    assert [record.value for record in iter_records(data)] == [bytes(500)] * 3
    assert (first.base_sequence, second.base_sequence) == (0, 3)
    assert second.base_offset == 3


@pytest.mark.parametrize(
    ("codec", "levels"), [("gzip", (1, 9)), ("lz4", (1, 17)), ("zstd", (-100, 22))]
)
def test_a_codec_is_used_at_its_level(codec: str, levels: tuple[int, int]) -> None:
    words = b" ".join(b"%d" % (n * n % 977) for n in range(4000))
    sizes = []
    for level in levels:
        overrides = {"compression.type": codec, f"compression.{codec}.level": str(level)}
        log = new_log(LogConfig.of(overrides))
        append(log, batch_of(value=words))
        data = log.read(0, 100_000, up_to=1).bytes()
        assert [record.value for record in iter_records(data)] == [words]
        sizes.append(len(data))

    assert sizes[0] > sizes[1]


def test_a_batch_that_grows_too_large_by_that_is_refused() -> None:
    log = new_log(LogConfig(compression_type="uncompressed", max_message_bytes=1000))

    code = refusal(log, batch_of(value=bytes(5000), compression=Compression.GZIP))

    assert code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_coordinator_s_marker_is_taken_as_it_is() -> None:
    log = new_log(LogConfig(compression_type="zstd", cleanup_compact=True))
    append(log, produced(0, is_transactional=True))
    marker = end_transaction_batch(
        commit=False, coordinator_epoch=0, producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS
    )

    log.stage(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR, now_ms=NOW_MS)
    log.write()

    assert parse_header(log.read(1, 1000, up_to=2).bytes()).is_control


def test_a_view_of_a_request_s_buffer_is_patched_in_place() -> None:
    log = new_log()
    append(log, batch_of())
    batch = batch_of()
    request = bytearray(b"head" + batch + b"tail")
    view = memoryview(request)[4 : 4 + len(batch)]

    log.stage(view, leader_epoch=3, origin=AppendOrigin.CLIENT, now_ms=NOW_MS)
    log.write()

    header = parse_header(request, 4)
    check_batch(request, 4, header)
    assert header.base_offset == 1
    assert request[:4] + request[-4:] == b"headtail"


@pytest.mark.parametrize("offset", [0, 5])
def test_a_replica_keeps_offsets_and_epochs(offset: int) -> None:
    log = new_log()
    batch = batch_of(2, leader_epoch=6, base_offset=offset)

    appended = log.stage_replica(bytes(batch), now_ms=NOW_MS)
    log.write()

    (header,) = headers_in(log.read(0, 1000, up_to=100).bytes())
    assert header.base_offset == appended.first_offset == offset
    assert log.log_end_offset == offset + 2
    assert log.epochs.entries == [(6, offset)]


def test_a_replica_leaves_out_a_batch_that_is_not_whole() -> None:
    log = new_log()
    whole = batch_of(2, leader_epoch=1)

    appended = log.stage_replica(bytes(whole + batch_of(1, base_offset=2)[:70]), now_ms=NOW_MS)
    log.write()

    assert appended.last_offset == 1
    assert log.size_bytes == len(whole)


def test_a_replica_refuses_what_it_has_already() -> None:
    log = new_log()
    append(log, batch_of(3))

    with pytest.raises(AppendError) as caught:
        log.stage_replica(bytes(batch_of(2, base_offset=2)), now_ms=NOW_MS)

    assert caught.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_replica_refuses_damage() -> None:
    batch = batch_of()
    batch[-1] ^= 1

    with pytest.raises(AppendError):
        new_log().stage_replica(bytes(batch), now_ms=NOW_MS)


def test_a_changed_config_counts_from_the_next_batch_on() -> None:
    log = new_log()
    append(log, batch_of(value=bytes(500)))

    log.config = replace(log.config, max_message_bytes=100)

    assert refusal(log, batch_of(value=bytes(500))) is ErrorCode.MESSAGE_TOO_LARGE
