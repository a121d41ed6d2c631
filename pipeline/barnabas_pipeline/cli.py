"""`barnabas pipeline`: run, check, explain and try pipelines, and the jobs that come with them.

Complaints are lines on standard error; the exit status is 2 for a document or command that makes no
sense, 1 for one that cannot be done. A document is checked before Spark is imported.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final

# Each has `add_arguments(parser)` and `run(options) -> int`, and is imported when it is asked for.
COMMANDS: Final = {
    "run": ("barnabas_pipeline.commands.run", "run a pipeline"),
    "validate": ("barnabas_pipeline.commands.validate", "check a pipeline's document"),
    "explain": ("barnabas_pipeline.commands.explain", "show the plan that Spark makes of it"),
    "preview": ("barnabas_pipeline.commands.preview", "show ten decoded rows"),
    "lake": ("barnabas_pipeline.jobs.lake", "keep topics as a Parquet table"),
    "audit": ("barnabas_pipeline.audit.command", "prove a topic's integrity, or compare"),
    "replay": ("barnabas_pipeline.replay.command", "put a Parquet table back into a topic"),
}
# What the extra brings; some are imported only when a command comes to need them.
EXTRA: Final = {
    "fastavro",
    "numpy",
    "pandas",
    "prometheus_client",
    "py4j",
    "pyarrow",
    "pyspark",
    "yaml",
}
ADVICE: Final = "install the extra, pip install 'barnabas[pipeline]'"


def main(arguments: Sequence[str], prog: str = "barnabas pipeline") -> int:
    parser = argparse.ArgumentParser(prog=prog, description="Data pipelines on Spark.")
    parser.add_argument("command", choices=COMMANDS, metavar="command", help=_listed())
    parser.epilog = "; ".join(f"{name}: {what}" for name, (_, what) in COMMANDS.items())
    chosen = parser.parse_args(arguments[:1]).command
    try:
        return _call(chosen, arguments[1:], prog)
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        print(f"barnabas: pipelines need {error.name}: {ADVICE}", file=sys.stderr)
        return 1


def _call(command: str, arguments: Sequence[str], prog: str) -> int:
    module_name, what = COMMANDS[command]
    module = importlib.import_module(module_name)
    parser = argparse.ArgumentParser(prog=f"{prog} {command}", description=what)
    module.add_arguments(parser)
    outcome: int = module.run(parser.parse_args(arguments))
    return outcome


def _listed() -> str:
    return ", ".join(COMMANDS)
