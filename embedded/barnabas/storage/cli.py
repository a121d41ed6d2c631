"""The `kafka-storage` command, with the options and exit statuses of Kafka's own.

0 if it was done, 1 if not, whatever the reason; complaints are one line on standard error.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from barnabas.storage.format_command import (
    FormatOptions,
    describe_format,
    format_spec,
    node_directories,
)
from barnabas.storage.formatting import FormatRefused, format_directories
from barnabas.storage.info import describe_storage
from barnabas.storage.lookup import feature_dependencies, version_mapping
from barnabas.storage.scram_argument import BadCredential
from barnabas.storage.state import Mismatch, storage_state
from barnabas.storage.voter_argument import BadVoter
from barnabas_core.config.error import ConfigError
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.server_properties import load_server_properties
from barnabas_core.log.directories.directory import new_directory_id
from barnabas_core.metadata.feature import (
    FEATURES,
    METADATA_VERSION,
    FeatureError,
    latest_production,
    name_of_level,
)
from barnabas_core.ports.disk import DiskError
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.wire.primitive import uuid_text

_REFUSALS = (
    BadCredential,
    BadVoter,
    ConfigError,
    DiskError,
    FeatureError,
    FormatRefused,
    Mismatch,
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        lines, status = _run(options)
    except _REFUSALS as error:
        print(f"kafka-storage: {error}", file=sys.stderr)
        return 1
    for line in lines:
        print(line)
    return status


def _run(options: argparse.Namespace) -> tuple[list[str], int]:
    match options.command:
        case "info":
            node = _node(options.config)
            return describe_storage(storage_state(RealDisk(), node_directories(node)))
        case "format":
            return _format(options), 0
        case "version-mapping":
            return version_mapping(options.release_version), 0
        case "feature-dependencies":
            return feature_dependencies(options.feature), 0
    return [uuid_text(new_directory_id(SystemRng()))], 0


def _format(options: argparse.Namespace) -> list[str]:
    node = _node(options.config)
    wanted = FormatOptions(
        cluster_id=options.cluster_id,
        is_standalone=options.standalone,
        initial_controllers=options.initial_controllers,
        no_initial_controllers=options.no_initial_controllers,
        features=tuple(options.feature),
        release_version=options.release_version,
        scram=tuple(options.add_scram),
        ignore_formatted=options.ignore_formatted,
    )
    rng = SystemRng()
    spec = format_spec(node, wanted, rng)
    return describe_format(spec, format_directories(RealDisk(), rng, SystemClock(), spec))


def _node(path: str) -> NodeProperties:
    node = load_server_properties(path, os.environ, RealDisk().read)
    for warning in node.warnings:
        print(f"kafka-storage: {path}: {warning}", file=sys.stderr)
    return node


class _Parser(argparse.ArgumentParser):
    """Kafka's tool ends with 1 where the command line is wrong."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"kafka-storage: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="kafka-storage",
        description="The Kafka storage tool.",
        fromfile_prefix_chars="@",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    info = _command(commands, "info", "describe the log directories of this node")
    _add_config(info)
    _add_format(_command(commands, "format", "format the log directories of this node"))
    mapping = _command(
        commands, "version-mapping", "show the feature levels of a release, by default the latest"
    )
    _add_release(mapping)
    dependencies = _command(
        commands, "feature-dependencies", "show what a feature needs of the other features"
    )
    dependencies.add_argument(
        "--feature",
        "-f",
        action="append",
        required=True,
        metavar="FEATURE=LEVEL",
        help="a feature and its level; may be given more than once",
    )
    _command(commands, "random-uuid", "print a random id, for a cluster or a directory")
    return parser


def _command(
    commands: "argparse._SubParsersAction[_Parser]", name: str, summary: str
) -> argparse.ArgumentParser:
    description = summary[0].upper() + summary[1:] + "."
    return commands.add_parser(name, help=summary, description=description, allow_abbrev=False)


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        "-c",
        required=True,
        metavar="FILE",
        help="the node's server.properties; KAFKA_* environment variables override it",
    )


def _add_release(parser: argparse.ArgumentParser) -> None:
    least = FEATURES[METADATA_VERSION].levels[0].name
    parser.add_argument(
        "--release-version",
        "-r",
        metavar="RELEASE",
        help=f"whose features to start with, from {least} on; "
        f"by default {name_of_level(latest_production())}",
    )


def _add_format(parser: argparse.ArgumentParser) -> None:
    _add_config(parser)
    parser.add_argument(
        "--cluster-id", "-t", required=True, metavar="ID", help="the id that all nodes share"
    )
    parser.add_argument(
        "--add-scram",
        "-S",
        action="append",
        default=[],
        metavar="CREDENTIAL",
        help="a credential to start with, such as 'SCRAM-SHA-256=[name=alice,password=secret]' or "
        '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'',
    )
    parser.add_argument(
        "--ignore-formatted",
        "-g",
        action="store_true",
        help="leave directories that are formatted already as they are, and format the others",
    )
    _add_release(parser)
    parser.add_argument(
        "--feature",
        "-f",
        action="append",
        default=[],
        metavar="FEATURE=LEVEL",
        help="start with this level of a feature",
    )
    _add_quorum(parser)


def _add_quorum(parser: argparse.ArgumentParser) -> None:
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument(
        "--standalone",
        "-s",
        action="store_true",
        help="this controller is the first voter, alone; more can be added later",
    )
    quorum.add_argument(
        "--no-initial-controllers",
        "-N",
        action="store_true",
        help="this controller learns the voters from others",
    )
    quorum.add_argument(
        "--initial-controllers",
        "-I",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="the first voters, the same list on all nodes",
    )
