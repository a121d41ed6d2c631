"""Gaps that a topic may have."""

from barnabas_pipeline.audit.report import Finding, Report
from barnabas_pipeline.audit.run import without_expected_gaps
from barnabas_pipeline.audit.spec import AuditSpec, Kind, TopicEndpoint
from barnabas_pipeline.audit.steps import StepResult

GAP, BACK = Finding(Kind.GAP, 1_234), Finding(Kind.TIMESTAMP_BACK, 1)
ENDPOINT = TopicEndpoint("b:1", "orders")


def test_a_gap_is_a_defect_unless_the_topic_may_have_gaps() -> None:
    report = Report("topic orders")

    kept = without_expected_gaps(report, StepResult([], [GAP, BACK]), AuditSpec(ENDPOINT))

    assert kept == [GAP, BACK]
    assert report.remarks == []


def test_gaps_that_may_be_become_a_remark() -> None:
    report = Report("topic orders")
    spec = AuditSpec(ENDPOINT, may_have_gaps=True)

    kept = without_expected_gaps(report, StepResult([], [GAP, BACK]), spec)

    assert kept == [BACK]
    [remark] = report.remarks
    assert remark.startswith("1,234 offsets have no record")
