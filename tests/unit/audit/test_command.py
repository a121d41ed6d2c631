"""`barnabas pipeline audit`: what the words on the command line mean."""

import argparse

import pytest

from barnabas_pipeline.audit import command
from barnabas_pipeline.audit.spec import (
    Against,
    AuditSpec,
    BadSpec,
    SegmentsEndpoint,
    TableEndpoint,
    TopicEndpoint,
)


def spec(*words: str) -> AuditSpec:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.spec_of(parser.parse_args(words))


def test_a_topic_of_a_cluster_with_all_checks() -> None:
    words = "--topic t --bootstrap b:1 --id key --id partition --check-timestamps --sequence s"

    assert spec(*words.split(), "--sequence-per", "key", "--may-have-gaps") == AuditSpec(
        TopicEndpoint("b:1", "t"),
        id=("key", "partition"),
        checks_timestamps=True,
        sequence="s",
        sequence_per=("key",),
        may_have_gaps=True,
    )


def test_segments_are_read_from_several_directories() -> None:
    endpoint = spec("--topic", "t", "--log-dirs", "/a,/b", "--include-active").endpoint

    assert endpoint == SegmentsEndpoint(("/a", "/b"), "t", includes_active=True)


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ("--against-table /lake", TableEndpoint("/lake")),
        ("--against-topic u", TopicEndpoint("b:1", "u")),
        ("--against-topic u --against-bootstrap c:2", TopicEndpoint("c:2", "u")),
        ("--against-topic u --against-log-dirs /c", SegmentsEndpoint(("/c",), "u")),
    ],
)
def test_it_is_compared_with_a_table_or_another_topic(words: str, other: object) -> None:
    own = "--topic t --bootstrap b:1 --id key --content value --against-id k --against-content v"

    made = spec(*own.split(), *words.split())

    assert isinstance(made.against, Against)
    assert made.against.endpoint == other
    assert (made.content, made.against.id, made.against.content) == (("value",), ("k",), ("v",))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "what is to be audited"),
        ("--topic t", "where is the topic"),
        ("--topic t --log-dirs /a --id key --against-topic u", "where is the other topic"),
        ("--topic t --bootstrap b:1 --against-table /lake", "a comparison needs an id"),
        ("--table /lake", "nothing to be checked"),
        (
            "--table /a --id k --id m --against-table /b --against-id n",
            "--against-id is there 1 times and --id 2",
        ),
        (
            "--table /a --id k --against-table /b --against-content n",
            "--against-content is there 1 times and --content 0",
        ),
    ],
)
def test_an_audit_that_makes_no_sense_is_refused(
    words: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadSpec, match=complaint):
        spec(*words.split())
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args(words.split())) == 2
    assert complaint in capsys.readouterr().err
