"""The raw client in a process of its own: one record per request, its figures as JSON.

usage: python -m bench.compare.request_process PORT TOPIC CONNECTIONS SECONDS

Each connection sends its next Produce (acks=1, a record of 100 B, partition 0) when the last is
answered. What the answers say is not looked at: whoever asked compares the log's end to `count`.
"""

import json
import sys
import time
from collections.abc import Sequence
from typing import cast

import uvloop

from barnabas_core.records.builder import build_batch
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from bench.request_client import drive

_VERSION = 9
_VALUE = bytes(100)


def one_record_produce(topic: str) -> bytes:
    batch = build_batch([(None, _VALUE)], timestamp_ms=int(time.time() * 1000))
    topics = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, memoryview(batch))])]
    request = ProduceRequest(None, 1, 1000, topics)
    return b"".join(cast("list[bytes]", encode_request(request, _VERSION, 1, "bench")))


def main(arguments: Sequence[str]) -> None:
    port, topic, connections, seconds = arguments
    request = one_record_produce(topic)
    work = drive("127.0.0.1", int(port), int(connections), request, seconds=float(seconds))
    result = uvloop.run(work)
    figures = {
        "requests/s": result.rate,
        "count": result.total_count,
        "p50 ms": result.percentile_ms(50),
        "p99 ms": result.percentile_ms(99),
        "p99.9 ms": result.percentile_ms(99.9),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
