"""Columns as SQL has them, `id BIGINT NOT NULL, tags ARRAY<STRING>`, to Spark's JSON of a schema.

Spark has such a parser, in Java; a document is judged before Spark is started.
"""

import re
from typing import Final

from barnabas_pipeline.spec.model import TypeJson

_SIMPLE: Final = {
    "boolean": "boolean",
    "tinyint": "byte", "byte": "byte",
    "smallint": "short", "short": "short",
    "int": "integer", "integer": "integer",
    "bigint": "long", "long": "long",
    "float": "float", "real": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}  # fmt: skip
_TOKEN: Final = re.compile(r"\s*(`[^`]+`|[A-Za-z_]\w*|\d+|[<>(),:])")


def parse_ddl(text: str) -> TypeJson:
    """The struct; a `ValueError` says what was wanted and where it stands."""
    parser = _Parser(text)
    fields = parser.fields(separator=None)
    parser.expect_end()
    return {"type": "struct", "fields": fields}


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"`{text[position:].strip()[:20]}` does not belong into columns")
            self._tokens.append(match[1])
            position = match.end()
        self._next = 0

    def fields(self, separator: str | None) -> list[dict[str, object]]:
        found = [self._field(separator)]
        while self._accept(","):
            found.append(self._field(separator))
        return found

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise ValueError(f"a comma is missing before `{self._tokens[self._next]}`")

    def _field(self, separator: str | None) -> dict[str, object]:
        name = self._take("the name of a column").strip("`")
        if separator:
            self._accept(separator)
        kind = self._type(name)
        is_required = self._accept_word("not") and self._accept_word("null")
        return {"name": name, "type": kind, "nullable": not is_required, "metadata": {}}

    def _type(self, column: str) -> TypeJson:
        word = self._take(f"the type of `{column}`").lower()
        if word in _SIMPLE:
            return _SIMPLE[word]
        if word in ("decimal", "numeric", "dec"):
            return self._decimal()
        if word in ("varchar", "char"):
            self._bracketed_numbers()
            return "string"
        if word in ("array", "map", "struct"):
            return self._nested(word, column)
        raise ValueError(f"`{word}` is no type that Spark knows; there is {', '.join(_SIMPLE)}")

    def _decimal(self) -> str:
        numbers = self._bracketed_numbers() or ["10", "0"]
        return f"decimal({numbers[0]},{numbers[1] if len(numbers) > 1 else 0})"

    def _bracketed_numbers(self) -> list[str]:
        if not self._accept("("):
            return []
        numbers = [self._take("a number")]
        while self._accept(","):
            numbers.append(self._take("a number"))
        self._expect(")")
        return numbers

    def _nested(self, word: str, column: str) -> TypeJson:
        self._expect("<")
        nested: dict[str, object]
        if word == "array":
            element = self._type(column)
            nested = {"type": "array", "elementType": element, "containsNull": True}
        elif word == "map":
            key = self._type(column)
            self._expect(",")
            value = self._type(column)
            nested = {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        else:
            nested = {"type": "struct", "fields": self.fields(separator=":")}
        self._expect(">")
        return nested

    def _take(self, what: str) -> str:
        if self._next == len(self._tokens):
            raise ValueError(f"{what} is missing at the end")
        token = self._tokens[self._next]
        if not re.match(r"[`\w]", token):
            raise ValueError(f"{what} is missing before `{token}`")
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            at = self._tokens[self._next] if self._next < len(self._tokens) else "the end"
            raise ValueError(f"`{token}` is missing before `{at}`")

    def _accept(self, token: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next] == token:
            self._next += 1
            return True
        return False

    def _accept_word(self, word: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next].lower() == word:
            self._next += 1
            return True
        return False
