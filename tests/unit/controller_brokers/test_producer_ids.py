"""AllocateProducerIds."""

import pytest

from barnabas_controller.managers.producer_ids.allocation import decide_allocate_producer_ids
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from barnabas_core.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from tests.support.controller_lab import ControllerLab

INT64_MAX = 2**63 - 1


def _allocate(lab: ControllerLab, broker_id: int, epoch: int) -> AllocateProducerIdsResponse:
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
    return lab.decide(decide_allocate_producer_ids, request)


def test_every_block_is_given_once() -> None:
    lab = ControllerLab()
    epochs = [lab.register_broker(broker_id) for broker_id in (1, 2)]

    blocks = [
        _allocate(lab, 1, epochs[0]),
        _allocate(lab, 2, epochs[1]),
        _allocate(lab, 1, epochs[0]),
    ]

    starts = [(block.producer_id_start, block.producer_id_len) for block in blocks]
    assert starts == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert lab.image.next_producer_id == 3000


@pytest.mark.parametrize(("broker_id", "wrong_by"), [(1, -1), (1, 1), (2, 0)])
def test_only_a_broker_of_the_present_epoch_gets_one(broker_id: int, wrong_by: int) -> None:
    lab = ControllerLab()
    epoch = lab.register_broker(1)

    answer = _allocate(lab, broker_id, epoch + wrong_by)

    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert lab.records == []


@pytest.mark.parametrize(
    ("next_id", "code"),
    [(INT64_MAX - 1000, ErrorCode.NONE), (INT64_MAX - 999, ErrorCode.UNKNOWN_SERVER_ERROR)],
)
def test_ids_do_not_wrap(next_id: int, code: ErrorCode) -> None:
    lab = ControllerLab()
    epoch = lab.register_broker(1)
    lab.apply([ProducerIdsRecord(broker_id=1, broker_epoch=epoch, next_producer_id=next_id)])

    assert _allocate(lab, 1, epoch).error_code == code
