"""Protobuf values by a descriptor set."""

import struct
from datetime import datetime

import pytest

from barnabas_pipeline.decode.protobuf import ProtobufDecoder, UnknownMessage, columns_of_message
from barnabas_pipeline.decode.undecodable import Undecodable
from tests.support.protobuf_order import DESCRIPTOR, order_bytes

WHOLE = {
    "id": 7, "kind": "REFUND", "lines": [0.5, 1.5], "tags": [("a", 1)],
    "at": datetime(2026, 11, 17, 8), "raw": b"r",  # noqa: DTZ001
}  # fmt: skip


def test_the_columns_are_those_of_the_message() -> None:
    fields = columns_of_message(DESCRIPTOR, "orders.Order")["fields"]

    assert {field["name"]: field["type"] for field in fields} == {
        "id": "long",
        "kind": "string",
        "lines": {"type": "array", "elementType": "double", "containsNull": True},
        "tags": {
            "type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True,
        },
        "at": "timestamp",
        "raw": "binary",
    }  # fmt: skip


def test_a_message_is_decoded() -> None:
    assert (
        ProtobufDecoder(DESCRIPTOR, "orders.Order", has_prefix=False).open()(order_bytes()) == WHOLE
    )


@pytest.mark.parametrize("indexes", [b"\0", b"\x02\x00", b"\x04\x02\x04"])
def test_a_prefix_and_the_indexes_behind_it_are_skipped(indexes: bytes) -> None:
    value = struct.pack(">bI", 0, 1) + indexes + order_bytes()

    assert ProtobufDecoder(DESCRIPTOR, "orders.Order", has_prefix=True).open()(value) == WHOLE


def test_what_is_not_the_message_says_so() -> None:
    decode = ProtobufDecoder(DESCRIPTOR, "orders.Order", has_prefix=False).open()
    with pytest.raises(Undecodable, match=r"no orders\.Order"):
        decode(b"\x0a\xff")

    behind_prefix = ProtobufDecoder(DESCRIPTOR, "orders.Order", has_prefix=True).open()
    with pytest.raises(Undecodable, match="cut short"):
        behind_prefix(struct.pack(">bI", 0, 1))


def test_a_moment_that_no_year_holds_is_the_records_fault() -> None:
    decode = ProtobufDecoder(DESCRIPTOR, "orders.Order", has_prefix=False).open()

    with pytest.raises(Undecodable, match=r"no orders\.Order"):
        decode(order_bytes() + b"\x2a\x0a\x08" + b"\xff" * 8 + b"\x3f")  # at.seconds = 2**62 - 1


def test_an_unknown_message_is_told_which_there_are() -> None:
    with pytest.raises(UnknownMessage, match=r"no message Order; there is .*orders\.Order"):
        columns_of_message(DESCRIPTOR, "Order")
