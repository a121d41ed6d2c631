"""What a replay sends, from the columns that a table has."""

import pytest

from barnabas_pipeline.replay.spec import BadReplay, ReplaySpec, projection

SPEC = ReplaySpec("/lake", "b:1", "orders")


def test_columns_of_a_record_are_sent_as_they_are() -> None:
    columns = ("key", "value", "headers", "partition", "offset")

    assert projection(SPEC, columns) == ["key as key", "value as value", "headers as headers"]


def test_what_the_table_lacks_is_not_sent() -> None:
    assert projection(SPEC, ("value",)) == ["value as value"]


def test_expressions_and_the_partition_are_sent_if_asked_for() -> None:
    spec = ReplaySpec(
        "/lake", "b:1", "orders", key="id", value="to_json(struct(*))", partition="partition"
    )

    assert projection(spec, ("id", "amount", "partition")) == [
        "id as key",
        "to_json(struct(*)) as value",
        "cast(partition as int) as partition",
    ]


def test_a_table_without_values_must_say_what_to_send() -> None:
    with pytest.raises(BadReplay, match="to_json"):
        projection(SPEC, ("id", "amount"))


@pytest.mark.parametrize(("rate", "files"), [(0.0, None), (-1.0, None), (None, 0)])
def test_a_rate_and_a_step_are_more_than_nothing(rate: float | None, files: int | None) -> None:
    with pytest.raises(BadReplay):
        ReplaySpec("/lake", "b:1", "orders", rows_per_second=rate, files_per_step=files)
