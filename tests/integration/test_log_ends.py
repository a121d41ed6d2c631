"""Brokers tell group coordinators where their partitions end, and nobody else."""

from pathlib import Path

import pytest

from barnabas_broker.handlers.list_offsets import LATEST
from barnabas_broker.log_ends import LogEndService
from barnabas_core.ports.link import Call, CallRefused, Purpose
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse
from tests.support.broker_bench import TOPIC, BrokerBench, batch, run
from tests.support.link_lab import Lab

VERSION = 7
TIMEOUT_MS = 10_000
QUESTION = encode(
    ListOffsetsRequest(
        topics=[ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, timestamp=LATEST)])]
    ),
    VERSION,
)


async def asked(bench: BrokerBench, role: str, call: Call) -> ListOffsetsResponse:
    lab = Lab("local")
    try:
        service = LogEndService(bench.list_offsets.handle)
        server = await lab.serve(service, purpose=Purpose.LOG_END)
        links = lab.links(7, role=role)
        link = lab.open(server.address, links=links, purpose=Purpose.LOG_END)
        answer = await link.call(call, TIMEOUT_MS)
    finally:
        await lab.close()
    return decode(ListOffsetsResponse, VERSION, bytes(answer))


def test_a_coordinator_is_told(tmp_path: Path) -> None:
    async def scene(bench: BrokerBench) -> None:
        bench.append(batch([b"one", b"two", b"three"]))
        call = Call(ApiKey.LIST_OFFSETS, VERSION, QUESTION)

        answer = await asked(bench, "group", call)

        (partition,) = answer.topics[0].partitions
        assert (partition.error_code, partition.offset) == (0, 3)

    run(tmp_path, scene)


@pytest.mark.parametrize(
    ("role", "api", "body"),
    [
        ("broker", ApiKey.LIST_OFFSETS, QUESTION),
        ("operator", ApiKey.LIST_OFFSETS, QUESTION),
        ("group", ApiKey.DELETE_RECORDS, QUESTION),
        ("group", ApiKey.LIST_OFFSETS, b"\xff"),
    ],
    ids=["a broker", "an operator", "another api", "no request"],
)
def test_nobody_else_is_and_nothing_else(
    tmp_path: Path, role: str, api: ApiKey, body: bytes
) -> None:
    async def scene(bench: BrokerBench) -> None:
        with pytest.raises(CallRefused):
            await asked(bench, role, Call(api, VERSION, body))

    run(tmp_path, scene)
