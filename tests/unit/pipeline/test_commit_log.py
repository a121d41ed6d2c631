"""Batches into a table exactly once, whatever step the process dies at."""

import contextlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from barnabas_pipeline.sinks.commit_log import CommitLog, Move
from barnabas_pipeline.sinks.file_store import FileStatus


class Died(Exception):
    """The process is killed here."""


class MortalFiles:
    """Local files; dies before the operation number `dies_at`, and counts those that change."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.count = 0
        self._dies_at = dies_at

    def _change(self) -> None:
        if self.count == self._dies_at:
            raise Died
        self.count += 1

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def read_text(self, path: str) -> str | None:
        return Path(path).read_text() if Path(path).exists() else None

    def write_text(self, path: str, text: str) -> None:
        self._change()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)

    def children(self, path: str) -> Sequence[FileStatus]:
        found = sorted(Path(path).iterdir()) if Path(path).exists() else []
        return [FileStatus(str(each), each.stat().st_size, 0, each.is_dir()) for each in found]

    def glob(self, pattern: str) -> Sequence[FileStatus]:
        raise NotImplementedError

    def move(self, source: str, target: str) -> None:
        self._change()
        if not Path(source).exists():
            return
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(source).rename(target)

    def delete(self, path: str) -> None:
        self._change()
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)


def run(
    table: Path, files: MortalFiles, batches: range, query: str = "q", first_file: int = 0
) -> None:
    """What a process does: recover, then every batch that Spark gives it, a file for each row."""
    log = CommitLog(files, str(table), query)
    log.recover()
    for batch_id in batches:
        if log.has(batch_id):
            continue
        moves = []
        for number in range(3):
            source = f"{log.staging}/{batch_id}/part-{number}"
            staged = table / source
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_text(f"{batch_id}.{number}\n")
            moves.append(Move(source, f"day=1/{query}-{batch_id}-{first_file + number}.parquet", 4))
        log.commit(batch_id, 3, moves)


def rows(table: Path) -> list[str]:
    """What a reader sees: names that begin with `_` are skipped."""
    return sorted(
        file.read_text().strip()
        for file in table.rglob("*.parquet")
        if "_barnabas" not in file.parts
    )


WHOLE = sorted(f"{batch}.{number}" for batch in range(2) for number in range(3))


def change_count(tmp_path_of: Callable[[], Path]) -> int:
    files = MortalFiles()
    run(tmp_path_of(), files, range(2))
    return files.count


def test_a_run_that_lives_has_every_row_once(tmp_path: Path) -> None:
    run(tmp_path, MortalFiles(), range(2))

    assert rows(tmp_path) == WHOLE
    assert not (tmp_path / "_barnabas/staging/q").exists()


def test_whatever_step_it_dies_at_every_row_is_there_once_after_the_next_run(
    tmp_path: Path,
) -> None:
    steps = change_count(lambda: tmp_path / "living")
    assert steps > 10

    for dies_at in range(steps):
        table = tmp_path / str(dies_at)
        with pytest.raises(Died):
            run(table, MortalFiles(dies_at), range(2))
        # Killed once more while it recovers.
        with contextlib.suppress(Died):
            run(table, MortalFiles(dies_at % 3), range(2))

        run(table, MortalFiles(), range(2))

        assert rows(table) == WHOLE, f"died at {dies_at}"


def test_readers_never_see_a_row_of_a_batch_without_its_record(tmp_path: Path) -> None:
    steps = change_count(lambda: tmp_path / "living")

    for dies_at in range(steps):
        table = tmp_path / str(dies_at)
        with pytest.raises(Died):
            run(table, MortalFiles(dies_at), range(2))

        recorded = {int(file.stem) for file in table.glob("_barnabas/commits/q/*.json")}
        assert {int(row.partition(".")[0]) for row in rows(table)} <= recorded


def test_a_batch_given_again_is_not_taken_again(tmp_path: Path) -> None:
    run(tmp_path, MortalFiles(), range(2))
    run(tmp_path, MortalFiles(), range(2), first_file=3)  # split otherwise: no name comes again

    assert rows(tmp_path) == WHOLE


def test_files_that_were_merged_since_do_not_hinder_the_next_start(tmp_path: Path) -> None:
    run(tmp_path, MortalFiles(), range(2))
    merged = "".join(file.read_text() for file in sorted(tmp_path.glob("day=1/*.parquet")))
    shutil.rmtree(tmp_path / "day=1")
    (tmp_path / "merged.parquet").write_text(merged)

    run(tmp_path, MortalFiles(), range(3))

    assert sorted("\n".join(rows(tmp_path)).split()) == sorted([*WHOLE, "2.0", "2.1", "2.2"])


def test_a_new_checkpoint_counts_from_its_own_start(tmp_path: Path) -> None:
    run(tmp_path, MortalFiles(), range(2), query="old")
    run(tmp_path, MortalFiles(), range(2), query="new")

    assert rows(tmp_path) == sorted(WHOLE * 2)


def test_old_records_are_removed_and_the_newest_kept(tmp_path: Path) -> None:
    run(tmp_path, MortalFiles(), range(150))

    names = sorted(file.stem for file in tmp_path.glob("_barnabas/commits/q/*.json"))
    assert [int(name) for name in names] == list(range(50, 150))
    run(tmp_path, MortalFiles(), range(150))
    assert len(rows(tmp_path)) == 450
