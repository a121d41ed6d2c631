"""`make bench-core`: the benchmarks of single parts, into docs/benchmarks.md.

Each runs in a process of its own, one after the other, and prints its section.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from bench.report import replace_section

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
SECTIONS = ("codec", "records", "log", "server")


def machine() -> str:
    """What the figures depend on, and nothing that changes when the machine does not."""
    cores = len(os.sched_getaffinity(0))
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    version = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cores} cores ({processor()}), {memory_gib:.0f} GiB, {version}, {platform.machine()}"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unnamed processor"


def main() -> None:
    for name in SECTIONS:
        print(f">> bench: {name}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", f"bench.{name}"]
        section = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        print(section.stdout)
        replace_section(PAGE, name, section.stdout)
    replace_section(PAGE, "machine", machine())


if __name__ == "__main__":
    main()
