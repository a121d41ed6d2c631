"""What the segments' files say of themselves: damage, holes between batches, producers' sequences.

Between two sound batches every offset is accounted for: markers and aborted transactions are
batches like others, so a hole is a defect unless compaction, whose checkpoint tells how far it
went, may have made it. Damage explains the offsets that it took, and a hole or damage explains the
producer's batches that are missing there: one defect is reported once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from barnabas_pipeline.audit.report import Example, Finding
from barnabas_pipeline.audit.spec import Kind
from barnabas_pipeline.segments.log_files import PartitionFiles, SegmentFile

# So many defects say enough: those beyond are neither told nor counted.
_COLLECTED_MAX: Final = 100_000
_SEQUENCE_MASK: Final = 2**31 - 1
_PARTITION: Final = ("topic", "partition")

Key = tuple[str, int]


@dataclass(frozen=True, slots=True, order=True)
class Hole:
    """Offsets of which no batch tells, from `start` to before `end`."""

    start: int
    end: int


class Holes:
    """Of all partitions; `explained` ones are no defects, but whatever lay in them is gone."""

    def __init__(self) -> None:
        self.unexplained: dict[Key, list[Hole]] = {}
        self._explained: dict[Key, list[Hole]] = {}

    def add(self, key: Key, hole: Hole, *, is_explained: bool) -> None:
        into = self._explained if is_explained else self.unexplained
        into.setdefault(key, []).append(hole)

    def between(self, key: Key, start: int, end: int) -> bool:
        """Whether anything between the two offsets is missing."""
        both = (*self.unexplained.get(key, ()), *self._explained.get(key, ()))
        return any(hole.start < end and hole.end > start for hole in both)

    def finding(self, example_count: int) -> Finding:
        places = sorted((key, hole) for key, holes in self.unexplained.items() for hole in holes)
        examples: list[Example] = [
            {"topic": topic, "partition": number, "offset": hole.start, "next_offset": hole.end}
            for (topic, number), hole in places[:example_count]
        ]
        count = sum(hole.end - hole.start for _, hole in places)
        return Finding(Kind.GAP, count, tuple(examples))


@dataclass(frozen=True, slots=True)
class BatchChecks:
    partitions: Sequence[PartitionFiles]
    includes_active: bool
    example_count: int


def check_batches(batches: DataFrame, checks: BatchChecks) -> list[Finding]:
    damage = _damage(batches)
    example_count = checks.example_count
    holes = _holes_inside(batches, damage)
    edges = _edges(batches)
    for files in checks.partitions:
        found = _holes_at_edges(files, edges, includes_active=checks.includes_active)
        for hole, is_damage in found:
            is_explained = is_damage or hole.end <= files.cleaned_up_to
            holes.add((files.topic, files.partition), hole, is_explained=is_explained)
    return [
        Finding(Kind.DAMAGED, len(damage), tuple(map(_damage_example, damage[:example_count]))),
        holes.finding(example_count),
        _producer_finding(batches, holes, example_count),
    ]


def _damage(batches: DataFrame) -> list[Row]:
    order = ("topic", "partition", "segment", "position")
    return batches.where("fault is not null").orderBy(*order).limit(_COLLECTED_MAX).collect()


def _damage_example(row: Row) -> Example:
    names = ("topic", "partition", "segment", "position", "sizeBytes", "baseOffset", "fault")
    return {name: row[name] for name in names}


# Holes


def _holes_inside(batches: DataFrame, damage: Sequence[Row]) -> Holes:
    """Between the batches of a segment, and in them."""
    holes = Holes()
    window = Window.partitionBy(*_PARTITION, "segment").orderBy("position")
    before = f.lag("lastOffset").over(window) + 1
    # After a stretch of damage there is no offset to go on from: the damage explains the hole.
    was_damaged = f.lag(f.col("lastOffset").isNull()).over(window)
    resumed = f.last("lastOffset", ignorenulls=True).over(window.rowsBetween(-(2**31), -1)) + 1
    steps = batches.select("*", before.alias("before"), was_damaged.alias("d"), resumed.alias("r"))
    start = f.when(f.col("d"), f.coalesce("r", "segment")).otherwise(f.col("before"))
    between = steps.select(
        *_PARTITION,
        start.alias("start"),
        f.col("baseOffset").alias("end"),
        (f.col("d") | (f.col("baseOffset") <= f.col("cleanedUpTo"))).alias("is_explained"),
    ).where("end > start")
    for row in between.limit(_COLLECTED_MAX).collect():
        hole = Hole(row["start"], row["end"])
        holes.add((row.topic, row.partition), hole, is_explained=row.is_explained)
    for row in _emptied(batches).limit(_COLLECTED_MAX).collect():
        # Which of the batch's offsets they were only its records tell.
        hole = Hole(row.lastOffset + 1 - row.lacking, row.lastOffset + 1)
        holes.add((row.topic, row.partition), hole, is_explained=False)
    for row in damage:
        if row.lastOffset is not None:
            hole = Hole(row.baseOffset, row.lastOffset + 1)
            holes.add((row.topic, row.partition), hole, is_explained=True)
    return holes


def _emptied(batches: DataFrame) -> DataFrame:
    """Batches with fewer records than offsets, where compaction has not been."""
    lacking = f.col("lastOffset") - f.col("baseOffset") + 1 - f.col("recordCount")
    return batches.withColumn("lacking", lacking).where(
        "lacking > 0 and fault is null and lastOffset >= cleanedUpTo"
    )


def _edges(batches: DataFrame) -> dict[tuple[str, int, int], Row]:
    """The first and the last row of each segment."""
    is_damaged = f.col("lastOffset").isNull()
    ends = batches.groupBy(*_PARTITION, "segment").agg(
        f.min_by("baseOffset", "position").alias("first"),
        f.min_by(is_damaged, "position").alias("starts_damaged"),
        f.max_by(f.coalesce(f.col("lastOffset") + 1, "baseOffset"), "position").alias("next"),
        f.max_by(is_damaged, "position").alias("ends_damaged"),
    )
    return {(row.topic, row.partition, row.segment): row for row in ends.collect()}


def _holes_at_edges(
    files: PartitionFiles, edges: dict[tuple[str, int, int], Row], *, includes_active: bool
) -> Iterator[tuple[Hole, bool]]:
    """Before a segment's first batch, and after its last; whether that is damage."""
    for segment, end in _readable(files, includes_active=includes_active):
        start = max(segment.base_offset, files.log_start_offset)
        row = edges.get((files.topic, files.partition, segment.base_offset))
        if row is None:
            if start < end:
                yield Hole(start, end), False
            continue
        if not row.starts_damaged and row.first > start:
            yield Hole(start, row.first), False
        if row.next < end:
            yield Hole(row.next, end), row.ends_damaged


def _readable(files: PartitionFiles, *, includes_active: bool) -> Iterator[tuple[SegmentFile, int]]:
    """The segments that were read, and up to which offset each must reach."""
    for segment in files.segments:
        end = min(segment.next_base_offset, files.high_watermark)
        is_read = segment.is_closed or includes_active
        if is_read and segment.base_offset < end and end > files.log_start_offset:
            yield segment, end


# Producers


def _producer_finding(batches: DataFrame, holes: Holes, example_count: int) -> Finding:
    suspects = _jumps(batches).limit(_COLLECTED_MAX).collect()
    found = [
        row
        for row in suspects
        if not holes.between((row.topic, row.partition), row.before_offset, row.baseOffset)
    ]
    examples = tuple(row.asDict() for row in found[:example_count])
    return Finding(Kind.PRODUCER_SEQUENCE, len(found), examples)


def _jumps(batches: DataFrame) -> DataFrame:
    """Batches whose sequence is not the one after the producer's last."""
    own = batches.where("producerId >= 0 and baseSequence >= 0 and not isControl")
    producer = (*_PARTITION, "producerId", "producerEpoch")
    window = Window.partitionBy(*producer).orderBy("baseOffset")
    last_sequence = f.col("baseSequence") + f.col("lastOffset") - f.col("baseOffset")
    expected = _next(f.lag(last_sequence).over(window))
    steps = own.select(
        *producer,
        "baseOffset",
        "baseSequence",
        "cleanedUpTo",
        expected.alias("expected"),
        f.lag("lastOffset").over(window).alias("before_offset"),
    )
    jumped = steps.where("baseSequence <> expected and baseOffset >= cleanedUpTo")
    return jumped.drop("cleanedUpTo").orderBy(*_PARTITION, "baseOffset")


def _next(sequence: Column) -> Column:
    return (sequence + 1).bitwiseAND(f.lit(_SEQUENCE_MASK))
