"""The `barnabas` command.

`barnabas up` runs a whole cluster in this process until it is interrupted, `barnabas serve` one
node of a cluster; `barnabas pipeline` runs data pipelines on Spark, and `barnabas cluster status`
tells about a cluster in Kubernetes. Complaints are one line on standard error; the exit status is 2
for a command that makes no sense, 1 for one that cannot be done.
"""

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["pipeline"]:
        from barnabas_pipeline.cli import main as pipeline  # noqa: PLC0415 - as below

        return pipeline(given[1:])
    options = _parser().parse_args(given)
    if options.command == "serve":
        from barnabas.serve import serve  # noqa: PLC0415 - as below

        return serve(options.file, log_format=options.log_format, log_level=options.log_level)
    if options.command == "cluster":
        from barnabas.cluster_command import cluster_status  # noqa: PLC0415 - as below

        return cluster_status(options.namespace, options.name)
    if options.brokers < 1:
        print("barnabas: --brokers: at least 1", file=sys.stderr)
        return 2
    # Only now: whoever asks for help does not wait for a broker to be loaded.
    from barnabas.up import UpOptions, up  # noqa: PLC0415

    return up(
        UpOptions(
            host=options.host,
            port=options.port,
            advertised_host=options.advertised_host,
            data=options.data,
            brokers=options.brokers,
            metrics_port=options.metrics_port,
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
    up.add_argument(
        "--metrics-port", type=_port, help="give figures to Prometheus there, 0 for a free port"
    )
    where = up.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="DIR", help="keep topics and records in DIR")
    where.add_argument(
        "--ephemeral", action="store_true", help="forget everything at the end (the default)"
    )
    up.add_argument("--log-format", choices=("console", "json"), default="console")
    up.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="warning")
    _add_serve(commands)
    # Its arguments are the pipelines' own affair, and are not parsed here.
    commands.add_parser("pipeline", help="run, check and try data pipelines on Spark")
    _add_cluster(commands)
    return parser


def _add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = commands.add_parser(
        "serve",
        help="run one node as its server.properties has it",
        description="Run a broker, a controller or both, as process.roles says, until SIGTERM.",
    )
    serve.add_argument("file", metavar="FILE", help="Kafka's server.properties")
    serve.add_argument("--log-format", choices=("console", "json"), default="console")
    serve.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")


def _add_cluster(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    cluster = commands.add_parser("cluster", help="tell about a cluster in Kubernetes")
    actions = cluster.add_subparsers(dest="action", required=True, metavar="action")
    status = actions.add_parser(
        "status",
        help="pools, the roll, lag and what blocks",
        description="Tell what the operator says of a KafkaCluster.",
    )
    status.add_argument("name", metavar="NAME", help="of the KafkaCluster")
    status.add_argument("-n", "--namespace", default="default", help="its namespace (%(default)s)")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port
