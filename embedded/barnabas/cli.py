"""The `barnabas` command.

`barnabas up` runs a whole cluster in this process until it is interrupted. Complaints are one
line on standard error; the exit status is 2 for a command that makes no sense, 1 for one that
cannot be done.
"""

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.brokers != 1:
        print("barnabas: --brokers: only 1 is possible so far", file=sys.stderr)
        return 2
    # Only now: whoever asks for help does not wait for a broker to be loaded.
    from barnabas.up import UpOptions, up  # noqa: PLC0415

    return up(
        UpOptions(
            host=options.host,
            port=options.port,
            advertised_host=options.advertised_host,
            data=options.data,
            log_format=options.log_format,
            log_level=options.log_level,
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="barnabas", description="Kafka's commit log in a Python process."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    up = commands.add_parser(
        "up",
        help="run a cluster in this process",
        description="Run a whole cluster in this process until Ctrl-C.",
    )
    up.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    up.add_argument(
        "--port", type=_port, default=9092, help="port to listen on, 0 for a free one (%(default)s)"
    )
    up.add_argument("--advertised-host", help="the name clients are told to connect to")
    up.add_argument("--brokers", type=int, default=1, help="number of brokers (%(default)s)")
    where = up.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="DIR", help="keep topics and records in DIR")
    where.add_argument(
        "--ephemeral", action="store_true", help="forget everything at the end (the default)"
    )
    up.add_argument("--log-format", choices=("console", "json"), default="console")
    up.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="warning")
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port
