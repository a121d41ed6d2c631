"""Which batches a table has: a record per batch, written before its files are moved into place.

    <table>/_barnabas/staging/<query>/...            files of a batch that is not committed
    <table>/_barnabas/commits/<query>/<batch>.json   its record: the commit is this file's rename
    <table>/day=2026-11-17/<query>-<batch>-<n>.parquet

A batch is in the table from the moment its record is there: what a crash left in staging is then
moved when the sink is opened again. Without a record the staged files are removed, and Spark gives
the batch once more. Readers skip names that begin with `_`, and so never see what is not committed.
Records are kept by query: a new checkpoint is a new query, and its batches count from 0 again.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from barnabas_pipeline.sinks.file_store import FileStore

_KEPT_COUNT: Final = 100  # only the newest is needed; the others are for people


@dataclass(frozen=True, slots=True)
class Move:
    """Relative to the table."""

    source: str
    target: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Commit:
    batch_id: int
    rows: int
    moves: tuple[Move, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> "Commit":
        values = json.loads(text)
        moves = tuple(Move(**move) for move in values["moves"])
        return Commit(values["batch_id"], values["rows"], moves)


class CommitLog:
    def __init__(self, files: FileStore, table: str, query_id: str) -> None:
        self._files = files
        self._table = table
        self._directory = f"{table}/_barnabas/commits/{query_id}"
        self.staging = f"_barnabas/staging/{query_id}"
        self.last: Commit | None = None

    def recover(self) -> None:
        """Finish the last commit, forget what was not committed."""
        names = self._record_names()
        if names:
            text = self._files.read_text(f"{self._directory}/{names[-1]}")
            assert text is not None, "listed a moment ago"
            self.last = Commit.from_json(text)
            self._move(self.last.moves)
        self._files.delete(f"{self._table}/{self.staging}")

    def has(self, batch_id: int) -> bool:
        """Batches are committed in order, so all up to the last are there."""
        return self.last is not None and batch_id <= self.last.batch_id

    def commit(self, batch_id: int, rows: int, moves: Sequence[Move]) -> None:
        assert not self.has(batch_id), "a batch is committed once"
        commit = Commit(batch_id, rows, tuple(moves))
        self._files.write_text(f"{self._directory}/{batch_id:020}.json", commit.to_json())
        self.last = commit
        self._move(commit.moves)
        self._files.delete(f"{self._table}/{self.staging}")
        for name in self._record_names()[:-_KEPT_COUNT]:
            self._files.delete(f"{self._directory}/{name}")

    def _record_names(self) -> list[str]:
        names = (each.path.rpartition("/")[2] for each in self._files.children(self._directory))
        return sorted(name for name in names if name.endswith(".json"))

    def _move(self, moves: Sequence[Move]) -> None:
        for move in moves:
            self._files.move(f"{self._table}/{move.source}", f"{self._table}/{move.target}")
