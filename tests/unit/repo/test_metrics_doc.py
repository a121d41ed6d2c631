"""docs/metrics.md says what there is."""

import re

from tools import gen_metrics_doc

ALL = [metric for metrics in gen_metrics_doc.SECTIONS.values() for metric in metrics]


def test_generating_the_document_again_changes_nothing() -> None:
    assert gen_metrics_doc.DOCUMENT.read_text(encoding="utf-8") == gen_metrics_doc.document()


def test_names_follow_the_conventions_of_prometheus() -> None:
    names = [metric.name for metric in ALL]

    assert len(set(names)) == len(names)
    for metric in ALL:
        assert re.fullmatch(r"(barnabas|process)_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.type.value == "counter"), metric.name
        assert "_ms" not in metric.name, "seconds and bytes are the units"
        assert metric.meaning.endswith("."), metric.name
