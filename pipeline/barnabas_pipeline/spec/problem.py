"""What is wrong with a document: where, what, and how to mend it."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` counts from 1; `field` is the path to it, `sinks[0].parquet.path`."""

    field: str
    line: int
    message: str

    def told(self, file: str) -> str:
        return f"{file}:{self.line}: {self.field + ': ' if self.field else ''}{self.message}"


class InvalidPipeline(Exception):
    """A document that is no pipeline; the message has one line per problem."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        super().__init__("\n".join(problem.told(file) for problem in self.problems))


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean topics?`, or what there is where nothing is near."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there is {', '.join(f'`{each}`' for each in names)}"
