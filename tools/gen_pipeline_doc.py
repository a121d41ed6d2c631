"""Write the table of fields in docs/pipelines.md from the shape that documents are read by.

usage: gen_pipeline_doc.py
"""

from collections.abc import Iterator
from pathlib import Path

from barnabas_pipeline.spec.pipeline_shape import PIPELINE
from barnabas_pipeline.spec.shape import Choice, Either, Field, ListOf, MapOf, Record, Scalar, Shape
from bench.report import replace_section

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "pipelines.md"
SECTION = "fields"


def table() -> str:
    return "\n".join(["| field | is | what |", "|---|---|---|", *_rows(PIPELINE, "")])


def _rows(record: Record, path: str) -> Iterator[str]:
    for field in record.fields:
        name = f"{path}{field.name}"
        yield f"| `{name}` | {_kind(field)} | {field.doc} |"
        inner = _record_in(field.shape)
        if inner is not None:
            mark = "[]" if isinstance(field.shape, ListOf) else ""
            yield from _rows(inner, f"{name}{mark}.")


def _kind(field: Field) -> str:
    words = _words(field.shape)
    if field.required:
        return f"{words}; required"
    return f"{words}; `{field.default}`" if _is_told(field.default) else words


def _is_told(default: object) -> bool:
    return default not in (None, ())


def _words(shape: Shape) -> str:
    match shape:
        case Scalar():
            return shape.name
        case Choice():
            return ", ".join(f"`{value}`" for value in shape.values)
        case ListOf():
            return f"list of {_words(shape.item)}"
        case MapOf():
            return f"map to {_words(shape.value)}"
        case Either():
            return f"{_words(shape.word)}, or {_words(shape.record)}"
        case Record():
            return "fields" if not shape.exactly_one else "one of the fields"


def _record_in(shape: Shape) -> Record | None:
    if isinstance(shape, Record):
        return shape
    if isinstance(shape, Either):
        return shape.record
    if isinstance(shape, ListOf):
        return _record_in(shape.item)
    return None


if __name__ == "__main__":
    replace_section(DOCUMENT, SECTION, table())
