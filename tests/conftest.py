"""What holds for every test: reproducible examples, and a last word on what ran and what did not.

Order is random (pytest-randomly prints the seed that repeats it), warnings are errors and a hung
test is killed with its stacks; those are settings in pyproject.toml. Here are Hypothesis' profiles
and the summary per folder at the end, so that a green run cannot hide what was left out.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.external"]

SOAK = os.environ.get("BARNABAS_SOAK", "") not in ("", "0")
KUBERNETES = os.environ.get("BARNABAS_KUBERNETES", "") not in ("", "0")

# The examples of `default` are the same on each run, so a change is judged by itself and not by
# its luck; `soak` draws new ones, and prints what replays a failure.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is not a broken test
)
settings.register_profile(
    "soak",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=2_000,
)
settings.load_profile("soak" if SOAK else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not SOAK and item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="long count: runs with `make soak`"))
        target = kubernetes_target(item)
        if target and not KUBERNETES:
            item.add_marker(
                pytest.mark.skip(reason=f"a real Kubernetes: runs with `make {target}`")
            )


def kubernetes_target(item: pytest.Item) -> str | None:
    """`e2e` of a test in tests/e2e, `kube` of one in tests/kube, nothing of any other."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return folder if folder in ("e2e", "kube") else None


def folder_of(node_id: str) -> str:
    """`tests/unit/wire` of tests/unit/wire/test_x.py::test_y; the same for a file of its own."""
    return str(Path(node_id.partition("::")[0]).parent)


def skip_reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    ran: Counter[tuple[str, str]] = Counter()
    seconds: Counter[str] = Counter()
    left_out: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed", "error", "skipped", "xfailed"):
        for report in terminalreporter.stats.get(outcome, []):
            folder = folder_of(report.nodeid)
            ran[folder, outcome] += 1
            if outcome == "skipped":
                left_out[folder, skip_reason(report)] += 1
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[folder_of(report.nodeid)] += round(report.duration * 1000)

    write = terminalreporter.write_line
    terminalreporter.section("what ran")
    for folder in sorted({folder for folder, _ in ran}):
        counts = ", ".join(
            f"{ran[folder, outcome]} {outcome}"
            for outcome in ("passed", "failed", "error", "xfailed", "skipped")
            if ran[folder, outcome]
        )
        write(f"{folder:28} {counts:40} {seconds[folder] / 1000:7.1f} s")
    for (folder, reason), count in sorted(left_out.items()):
        write(f"left out: {count} in {folder}: {reason}")
    if not left_out:
        write("left out: nothing")
    seed = config.getoption("randomly_seed", None)
    write(
        f"order: --randomly-seed={seed}; Hypothesis profile: {settings.get_current_profile_name()}"
    )
