"""docs/pipelines.md and the resource have the fields that documents are read by."""

import re

from barnabas_pipeline.spec.build import parse_spec
from barnabas_pipeline.spec.resource_schema import resource_schema
from tools import gen_pipeline_doc

PAGE = gen_pipeline_doc.DOCUMENT.read_text(encoding="utf-8")


def test_generating_the_table_again_changes_nothing() -> None:
    _, _, rest = PAGE.partition("<!-- fields:begin -->")

    assert rest.partition("<!-- fields:end -->")[0].strip() == gen_pipeline_doc.table()


def test_every_example_of_the_page_is_a_pipeline() -> None:
    examples = [
        text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "sinks:" in text
    ]

    assert len(examples) >= 2
    for text in examples:
        parse_spec(text, "example", gen_pipeline_doc.DOCUMENT.parent, "example")


def test_the_resources_schema_has_the_same_fields() -> None:
    schema = resource_schema()

    assert schema["required"] == ["source", "decode", "sinks", "checkpoint"]
    sink = schema["properties"]["sinks"]["items"]
    assert set(sink["properties"]) == {"parquet", "kafka", "console"}
    assert sink["oneOf"][0] == {"required": ["parquet"]}
    assert schema["properties"]["decode"]["properties"]["format"]["enum"][0] == "json"
