"""Options of the source, as text."""

import pytest

from barnabas_pipeline.segments.log_files import NO_END
from barnabas_pipeline.segments.options import BadOption, Rows, parse_options
from barnabas_pipeline.segments.plan import Isolation, Selection
from barnabas_pipeline.segments.segment_reader import OnCorrupt

PATH = {"path": "/logs"}


def test_only_the_path_must_be_given() -> None:
    options = parse_options(PATH)

    assert options.paths == ("/logs",)
    assert options.selection == Selection()
    assert options.limits.isolation is Isolation.COMMITTED
    assert not options.limits.reads_active
    assert options.on_corrupt is OnCorrupt.FAIL
    assert "headers" not in options.columns
    assert options.columns[:2] == ("key", "value")


def test_names_may_have_any_case() -> None:
    options = parse_options(PATH | {"STARTINGOFFSET": "5", "includeheaders": "True"})

    assert options.selection.start_offset == 5
    assert options.selection.end_offset == NO_END
    assert "headers" in options.columns


def test_several_directories_and_topics_are_separated_by_commas() -> None:
    options = parse_options({"path": "file:///a, /b", "subscribe": "x,y", "partitions": "0, 2"})

    assert options.paths == ("/a", "/b")
    assert options.selection.topics == frozenset({"x", "y"})
    assert options.selection.partitions == frozenset({0, 2})


def test_who_looks_at_batches_sees_aborted_ones() -> None:
    options = parse_options(PATH | {"rows": "batches"})

    assert options.rows is Rows.BATCHES
    assert options.limits.isolation is Isolation.UNCOMMITTED


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "no path"),
        ({"path": " "}, "no path"),
        (PATH | {"startingoffsets": "5"}, "unknown option 'startingoffsets'.*startingOffset"),
        (PATH | {"startingOffset": "earliest"}, "startingOffset: 'earliest' is not a whole number"),
        (PATH | {"includeActive": "yes"}, "includeActive: 'yes' is not true or false"),
        (PATH | {"onCorrupt": "drop"}, "onCorrupt: 'drop' is not fail or skip"),
        (PATH | {"partitions": "0,x"}, "partitions: '0,x' is not whole numbers"),
        (PATH | {"columns": "key,size"}, "no column 'size'"),
    ],
)
def test_a_bad_option_is_refused_with_its_name(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadOption, match=words):
        parse_options(given)
