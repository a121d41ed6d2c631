"""`python -m barnabas_broker --config server.properties`: one broker, until told to stop.

The directories must have been formatted (`kafka-storage format`). Complaints are one line on
standard error; the exit status is 1 for what cannot be done, 2 for a command that makes no sense.
"""

import argparse
import sys

from barnabas_broker.process import run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas_broker", description="Run a broker of a cluster."
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="Kafka's server.properties")
    parser.add_argument("--log-format", choices=("console", "json"), default="console")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    options = parser.parse_args()
    return run(options.config, log_format=options.log_format, log_level=options.log_level)


if __name__ == "__main__":
    sys.exit(main())
