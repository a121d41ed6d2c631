"""The headers of many records, decoded together: the first of each, then the second of each, ...

Most records have none or the same few, so there are as many steps as the record with most headers
has, over ever fewer records.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_pipeline.segments.varint import Bytes, Positions, read_varints

# As in barnabas_core.records.record: Kafka has no limit; who has so many wants our memory.
HEADERS_MAX: Final = 100_000


class HeaderSpans(NamedTuple):
    """Those of record i are [firsts[i], firsts[i + 1]) of the other arrays."""

    firsts: Positions
    key_starts: Positions
    key_ends: Positions
    value_starts: Positions
    value_ends: Positions
    value_is_null: NDArray[np.bool_]


def read_header_spans(
    view: Bytes, positions: Positions, ends: Positions
) -> tuple[HeaderSpans, Positions]:
    """What begins with the header count at `positions`, and where it ends."""
    counts, at = read_varints(view, positions)
    _check_counts(counts, (ends - at) // 2)
    firsts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=firsts[1:])
    spans = _room_for(firsts)
    index = 0
    having = np.flatnonzero(counts)
    while having.size:
        at[having] = _read_one(view, at[having], spans, firsts[having] + index)
        index += 1
        having = having[counts[having] > index]
    return spans, at


def _room_for(firsts: Positions) -> HeaderSpans:
    total = int(firsts[-1])
    bounds = np.empty((4, total), np.int64)
    return HeaderSpans(
        firsts, bounds[0], bounds[1], bounds[2], bounds[3], np.zeros(total, np.bool_)
    )


def _check_counts(counts: Positions, most: Positions) -> None:
    # Two bytes are the least that a header takes.
    wrong = np.flatnonzero((counts < 0) | (counts > np.minimum(most, HEADERS_MAX)))
    if wrong.size:
        raise CorruptBatch(BatchFault.BAD_RECORD, f"{counts[wrong[0]]} headers")


def _read_one(view: Bytes, at: Positions, spans: HeaderSpans, places: Positions) -> Positions:
    """One header of several records, put at `places`; where it ends."""
    key_lengths, key_starts = read_varints(view, at)
    if (key_lengths < 0).any():
        raise CorruptBatch(BatchFault.BAD_RECORD, "header without a key")
    key_ends = key_starts + key_lengths
    value_lengths, value_starts = read_varints(view, key_ends)
    is_null = value_lengths < 0
    value_ends = value_starts + np.where(is_null, 0, value_lengths)
    spans.key_starts[places] = key_starts
    spans.key_ends[places] = key_ends
    spans.value_starts[places] = value_starts
    spans.value_ends[places] = value_ends
    spans.value_is_null[places] = is_null
    return value_ends
