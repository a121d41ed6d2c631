"""runc for machines that lack CAP_SYS_RESOURCE: asks for nothing that cannot be given.

Docker's privileged containers ask for every capability, and for a lower out-of-memory score than
their parent's; both are refused here. Called as runc, with runc's path before its arguments.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

_SYS_RESOURCE_BIT = 24


def main() -> None:
    runc, arguments = sys.argv[1], sys.argv[2:]
    specification = specification_file(arguments)
    if specification is not None and specification.exists() and not may_raise_limits():
        content = json.loads(specification.read_text())
        limit(content.get("process", content))  # `exec` gives the bare process
        specification.write_text(json.dumps(content))
    os.execv(runc, [runc, *arguments])  # noqa: S606 - it stands in for runc


def specification_file(arguments: list[str]) -> Path | None:
    """What runc is about to read, if this call starts something."""
    if "exec" in arguments:
        given = option(arguments, "--process", "-p")
        return Path(given) if given else None
    if "create" in arguments or "run" in arguments:
        return Path(option(arguments, "--bundle", "-b") or ".") / "config.json"
    return None


def option(arguments: list[str], *names: str) -> str:
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else arguments[at + 1]
    return ""


def may_raise_limits() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> _SYS_RESOURCE_BIT & 1)
    return False


def limit(process: dict[str, Any]) -> None:
    for kind, given in (process.get("capabilities") or {}).items():
        process["capabilities"][kind] = [one for one in given or [] if one != "CAP_SYS_RESOURCE"]
    if (process.get("oomScoreAdj") or 0) < 0:
        process["oomScoreAdj"] = 0


if __name__ == "__main__":
    main()
