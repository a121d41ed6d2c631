"""Subscriptions by regular expression: RE2's, matched by the coordinator (KIP-848)."""

from barnabas_coordinator.group.consumer.topic_regex import is_valid, matching
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_regular_expression_key import (
    ConsumerGroupRegularExpressionKey,
)
from tests.support.consumer_lab import ConsumerLab

ALL = frozenset(("t", number) for number in range(4))


def test_the_whole_name_of_a_topic_is_matched() -> None:
    found = matching(["t", "t.*", "x|t1"], ["t", "t1", "at"])

    assert found == {"t": {"t"}, "t.*": {"t", "t1"}, "x|t1": {"t1"}}


def test_what_re2_refuses_is_refused() -> None:
    assert is_valid("(?i)orders-[0-9]+")
    assert not is_valid("(unclosed")
    assert not is_valid(r"(a)\1")  # back references cannot be matched in linear time
    assert not is_valid("(?=ahead)")


def test_an_expression_that_would_run_forever_elsewhere_takes_no_time() -> None:
    assert matching(["(a*)*b"], ["a" * 249]) == {"(a*)*b": frozenset()}


def test_who_joins_with_an_expression_is_given_what_it_matches(lab: ConsumerLab) -> None:
    lab.add_topic("t2", 1)
    lab.add_topic("other", 1)

    answer = lab.beat("m", regex="t.*")

    assert lab.told(answer) == ALL | {("t2", 0)}
    assert lab.group.regexes["t.*"].topics == {"t", "t2"}
    assert lab.group.is_subscribed_to("t2")
    assert not lab.group.is_subscribed_to("other")


def test_an_expression_that_is_none_is_refused(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.refused("n", regex="(t") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert lab.refused("m", 2, regex="(t") is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_names_and_an_expression_are_both_subscribed_to(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)

    answer = lab.beat("m", regex="u.*", subscribed_topic_names=["t"])

    assert lab.told(answer) == ALL | {("u", 0)}


def test_an_expression_that_matches_nothing_makes_a_member_without_partitions(
    lab: ConsumerLab,
) -> None:
    answer = lab.beat("m", regex="nothing-.*")

    assert lab.told(answer) == frozenset()
    assert answer.member_epoch > 0


def test_topics_that_come_and_go_are_found_after_a_while(lab: ConsumerLab) -> None:
    lab.beat("m", regex="t.*")
    epoch = lab.group.members["m"].epoch

    lab.add_topic("t2", 1)
    assert not lab.jobs  # not more often than every ten seconds
    lab.pass_time(10_000)
    lab.do_jobs()
    answer = lab.beat("m", epoch, owned=ALL)
    assert lab.told(answer) == ALL | {("t2", 0)}

    lab.remove_topic("t2")
    lab.pass_time(10_000)
    lab.do_jobs()
    answer = lab.beat("m", answer.member_epoch, owned=ALL)
    assert lab.told(answer) == ALL
    assert lab.group.regexes["t.*"].topics == {"t"}


def test_topics_that_match_nothing_begin_no_epoch(lab: ConsumerLab) -> None:
    lab.beat("m", regex="t.*")
    epoch = lab.group.epoch

    lab.add_topic("other", 1)
    lab.pass_time(10_000)
    lab.do_jobs()

    assert lab.group.epoch == epoch


def test_an_expression_that_the_group_has_is_not_matched_again(lab: ConsumerLab) -> None:
    lab.beat("a", regex="t.*")

    lab.post("b", regex="t.*")

    assert [job.key for job in lab.jobs] == ["assign:group"]


def test_another_expression_takes_the_place_of_the_first(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)
    lab.beat("m", regex="t.*")
    epoch = lab.group.members["m"].epoch

    lab.beat("m", epoch, owned=ALL, regex="u.*")
    answer = lab.beat("m", epoch, owned=frozenset())

    assert lab.told(answer) == {("u", 0)}
    assert list(lab.group.regexes) == ["u.*"]


def test_an_expression_that_came_while_another_was_matched_is_matched_after_it(
    lab: ConsumerLab,
) -> None:
    lab.add_topic("u", 1)
    first = lab.post("a", regex="t.*")
    second = lab.post("b", regex="u.*")
    assert len(lab.jobs) == 1

    lab.do_jobs()

    assert not lab.is_waiting(first)
    assert not lab.is_waiting(second)
    assert lab.group.regexes.keys() == {"t.*", "u.*"}
    assert lab.group.targets["b"] == {lab.image.topics.id_by_name["u"]: {0}}


def test_an_expression_goes_with_the_last_member_that_has_it(lab: ConsumerLab) -> None:
    lab.beat("a", regex="t.*")
    lab.beat("b", regex="t.*")

    lab.beat("a", -1)
    assert list(lab.group.regexes) == ["t.*"]
    lab.beat("b", -1)

    assert lab.group.regexes == {}
    deleted = [key for key, value in lab.new_records if value is None]
    assert ConsumerGroupRegularExpressionKey("group", "t.*") in deleted


def test_the_empty_expression_ends_the_subscription(lab: ConsumerLab) -> None:
    lab.beat("m", regex="t.*")

    lab.beat("m", lab.group.members["m"].epoch, owned=frozenset(), regex="")

    assert lab.group.targets["m"] == {}
    assert lab.group.regexes == {}


def test_expressions_are_matched_again_after_loading(lab: ConsumerLab) -> None:
    lab.post("m", regex="t.*")

    lab.reload()
    assert [job.key for job in lab.jobs] == ["regex:group"]
    lab.do_jobs()

    assert lab.told(lab.beat("m", regex="t.*")) == ALL
