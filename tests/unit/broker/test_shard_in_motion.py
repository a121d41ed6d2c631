"""What is answered about a shard that is on its way from one coordinator to another."""

from pathlib import Path
from typing import Any

from barnabas_broker.shards.shard_owner import OwnerParts, Phase, ShardOwner, Waiting
from barnabas_core.links.shard_message import ShardRequest
from barnabas_core.wire.error_code import ErrorCode
from tests.support.broker_bench import BrokerBench, run

REQUEST = ShardRequest(0, 0, 12, 4, 0, "client", "/127.0.0.1", "User:ANONYMOUS", "PLAINTEXT", b"")


def test_it_is_being_loaded_even_before_it_has_a_stream(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        nothing: Any = None  # not used for this
        parts = OwnerParts(nothing, nothing, nothing, nothing, 5.0, lambda: 0)
        owner = ShardOwner(bench.partition(), parts)
        told: list[bytes | ErrorCode] = []

        owner.ask(REQUEST, Waiting(told.append))
        owner.phase = Phase.LOADING
        owner.ask(REQUEST, Waiting(told.append))

        assert told == [
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ]
        assert not owner.is_busy

    run(tmp_path, scenario)
