"""`python -m barnabas_operator`: the operator. What it is told is in the environment (settings.py).

Complaints are one line on standard error; the exit status is 1 for what cannot be done, or when
another operator has taken over.
"""

import argparse
import sys

from barnabas_operator.process import run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas_operator", description="Run the operator."
    )
    parser.add_argument("--log-format", choices=("console", "json"), default="console")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    options = parser.parse_args()
    return run(log_format=options.log_format, log_level=options.log_level)


if __name__ == "__main__":
    sys.exit(main())
