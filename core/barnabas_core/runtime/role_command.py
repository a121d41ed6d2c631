"""The command line of a process that is a node of one role."""

import argparse


def role_parser(module: str, description: str) -> argparse.ArgumentParser:
    """For `python -m <module>`."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--config", required=True, metavar="FILE", help="Kafka's server.properties")
    parser.add_argument("--log-format", choices=("console", "json"), default="console")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    return parser
