"""The fetchers' cache: whole entries or none, and a clear word when something cannot be had."""

import hashlib
import stat
import threading
from pathlib import Path

import pytest

from barnabas_pipeline.fetch import cache, jars, java
from barnabas_pipeline.fetch.cache import CannotFetch, cached
from tools.fetch import kafka, kcat
from tools.fetch.jars import SINGLE_LOCK


@pytest.fixture(autouse=True)
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("BARNABAS_CACHE", str(directory))
    return directory


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BARNABAS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert cache.cache_dir() == tmp_path / "barnabas"


def test_an_entry_is_built_once() -> None:
    built = []

    def build(target: Path) -> None:
        built.append(target)
        (target / "file").write_text("content")

    assert (cached("entry", build) / "file").read_text() == "content"
    cached("entry", build)
    assert len(built) == 1


def test_a_failed_build_leaves_nothing_behind(cache_dir: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").write_text("of it")
        raise CannotFetch("no network")

    with pytest.raises(CannotFetch):
        cached("entry", fail)

    assert [path.name for path in cache_dir.iterdir()] == ["entry.lock"]
    assert cached("entry", lambda target: None).is_dir()


def test_two_that_want_the_same_build_it_once() -> None:
    built: list[Path] = []
    both_are_here = threading.Barrier(2)

    def fetch() -> None:
        both_are_here.wait(10)
        cached("entry", built.append)

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert len(built) == 1


def test_a_failing_command_is_reported_with_what_it_said() -> None:
    with pytest.raises(CannotFetch, match="kcat: sh failed: cannot reach the mirror"):
        cache.run(["sh", "-c", "echo cannot reach the mirror >&2; exit 3"], "kcat")


@pytest.mark.parametrize(("version", "found"), [("17.0.15", True), ("25", True), ("11.0.2", False)])
def test_an_installed_java_serves_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, found: bool
) -> None:
    home = tmp_path / "jdk"
    installed = program(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if found else "")

    assert java.installed_java() == (installed if found else None)


def test_a_java_that_does_not_start_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "java", "exit 1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert java.installed_java() is None


def test_every_jar_is_pinned_with_a_checksum() -> None:
    locked = {**jars.read_lock(kafka.LOCK), **jars.read_lock(SINGLE_LOCK)}

    assert f"org.apache.kafka:kafka_2.13:{kafka.KAFKA_VERSION}" in locked
    assert f"org.apache.kafka:kafka-tools:{kafka.KAFKA_VERSION}" in locked
    for version in kafka.OLD_CLIENT_VERSIONS:
        assert f"org.apache.kafka:kafka-clients:{version}" in locked
    assert all(len(checksum) == 64 for checksum in locked.values())


def test_a_jar_that_is_not_what_the_lock_says_is_refused(tmp_path: Path) -> None:
    checksums = {"org.example:good:1.0": hashlib.sha256(b"good").hexdigest()}
    jar = tmp_path / "good-1.0.jar"

    jar.write_bytes(b"good")
    jars.check(checksums, tmp_path)

    jar.write_bytes(b"evil")
    with pytest.raises(CannotFetch, match=r"org\.example:good:1\.0"):
        jars.check(checksums, tmp_path)


def test_kcat_on_the_path_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = program(tmp_path / "bin" / "kcat", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert kcat.fetch_kcat() == kcat.Kcat(installed, {})


def test_without_kcat_and_apt_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(CannotFetch, match="install it"):
        kcat.fetch_kcat()
