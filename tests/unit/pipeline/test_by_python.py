"""Arrow batches of decoded values: one that no column holds spoils none of the others."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

from barnabas_pipeline import columns
from barnabas_pipeline.decode.by_python import decode_batch

SCHEMA = pa.schema([("price", pa.decimal128(5, 2)), ("id", pa.int32())])
ROWS: dict[bytes, dict[str, Any]] = {
    b"good": {"price": Decimal("1.25"), "id": 1},
    b"dear": {"price": Decimal("123456.78"), "id": 2},
    b"long": {"price": None, "id": 2**40},
    b"last": {"price": Decimal("2.50"), "id": 4},
}


def test_a_value_that_its_column_cannot_hold_makes_a_bad_record() -> None:
    values = pa.array(list(ROWS), pa.binary())
    batch = pa.RecordBatch.from_arrays([values] * len(columns.OF_SOURCE), [*columns.OF_SOURCE])

    decoded = decode_batch(batch, ROWS.__getitem__, SCHEMA)

    reasons = decoded.column(columns.BAD_REASON).to_pylist()
    assert [reason is None for reason in reasons] == [True, False, False, True]
    assert reasons[1].startswith("field price does not fit into decimal128(5, 2)")
    assert reasons[2].startswith("field id does not fit into int32")
    assert decoded.column("id").to_pylist()[::3] == [1, 4]
    assert decoded.column(columns.VALUE).to_pylist() == list(ROWS)
