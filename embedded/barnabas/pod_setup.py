"""`python -m barnabas.pod_setup`: a node's `server.properties`, written where it runs.

All pods of a pool have one text in which what differs stands as `@NAME@`. A node's id and its
pod's name come from the environment. The rest are facts that nobody knows before the pod has a
place: its rack, its addresses seen from outside. The operator writes them on the pod, as JSON,
which this reads from a file that Kubernetes keeps up to date.

They are remembered on the disk. Where no operator answers, those are used: a disk stays where it
is, and so does the node. A disk that remembers nothing waits.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"@([A-Z0-9_]+)@")
_FROM_ENVIRONMENT: Final = ("NODE_ID", "POD_NAME")
_OPERATOR_SECONDS: Final = 20.0
_GIVE_UP_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.5


class MissingFact(Exception):
    """The text asks for what is not known."""


def names_in(template: str) -> frozenset[str]:
    return frozenset(_NAME.findall(template))


def fill(template: str, facts: Mapping[str, str]) -> str:
    """The text with every `@NAME@` replaced; `MissingFact` if one is not known."""
    missing = sorted(names_in(template) - facts.keys())
    if missing:
        raise MissingFact(", ".join(missing))
    return _NAME.sub(lambda match: facts[match[1]], template)


def without_unknown(template: str, facts: Mapping[str, str]) -> str:
    """The text without the lines that ask for what is not known."""
    lines = template.splitlines(keepends=True)
    return "".join(line for line in lines if names_in(line) <= facts.keys())


def format_arguments(initial_controllers: str, node_id: str) -> list[str]:
    """Options of `kafka-storage format`: only the first controllers start a quorum."""
    voters = initial_controllers.strip()
    first_ids = [voter.partition("@")[0] for voter in voters.split(",") if voter]
    if node_id in first_ids:
        return ["--initial-controllers", voters]
    return ["--no-initial-controllers"]


def facts_for(needed: frozenset[str], given: Path, remembered: Path | None) -> dict[str, str]:
    """Those that the operator gave, else the remembered ones; empty if there are none."""
    if not needed:
        return {}
    has_memory = remembered is not None and needed <= read_facts(remembered).keys()
    patience_seconds = _OPERATOR_SECONDS if has_memory else _GIVE_UP_SECONDS
    facts = _wait_for(needed, given, patience_seconds)
    if facts is not None:
        if remembered is not None:
            _write(remembered, json.dumps(facts, sort_keys=True))
        return facts
    if not has_memory or remembered is None:
        return {}
    print("pod_setup: no operator said where this pod is; taking what the disk remembers")
    return read_facts(remembered)


def read_facts(path: Path) -> dict[str, str]:
    """Empty if there is nothing, or nothing that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8") or "{}")
    except (OSError, ValueError):
        return {}
    return {str(name): str(fact) for name, fact in found.items()} if isinstance(found, dict) else {}


def _wait_for(needed: frozenset[str], given: Path, seconds: float) -> dict[str, str] | None:
    deadline = time.monotonic() + seconds  # noqa: TID251 - a program of its own, in a real pod
    print(f"pod_setup: waiting for {', '.join(sorted(needed))}")
    while True:
        facts = read_facts(given)
        if needed <= facts.keys():
            return facts
        if time.monotonic() >= deadline:  # noqa: TID251 - as above
            return None
        time.sleep(_LOOK_SECONDS)  # noqa: TID251 - as above


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    own = {name: os.environ[name] for name in _FROM_ENVIRONMENT}
    template = options.template.read_text(encoding="utf-8")
    needed = names_in(template) - own.keys()
    facts = own | facts_for(needed, options.facts, options.remembered)
    if options.optional:
        template = without_unknown(template, facts)
    try:
        _write(options.output, fill(template, facts))
    except MissingFact as error:
        print(f"pod_setup: the operator did not say: {error}", file=sys.stderr)
        return 1
    if options.format_arguments is not None:
        voters = options.initial_controllers.read_text(encoding="utf-8")
        words = format_arguments(voters, own["NODE_ID"])
        _write(options.format_arguments, "".join(f"{word}\n" for word in words))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas.pod_setup", description="Write a pod's server.properties."
    )
    parser.add_argument("--template", type=Path, required=True, help="with @NAME@ in it")
    parser.add_argument("--facts", type=Path, required=True, help="what the operator says, as JSON")
    parser.add_argument("--remembered", type=Path, help="a copy of it, on the disk")
    parser.add_argument(
        "--optional", action="store_true", help="leave out lines whose facts nobody says"
    )
    parser.add_argument("--output", type=Path, required=True, help="the properties")
    parser.add_argument("--initial-controllers", type=Path, help="id@host:port:directory,...")
    parser.add_argument("--format-arguments", type=Path, help="options for kafka-storage format")
    return parser


if __name__ == "__main__":
    sys.exit(main())
