"""`python -m tools.fetch [java] [kafka] [clients] ...`: all of them when none is named."""

import argparse
import sys
from collections.abc import Callable

from barnabas_pipeline.fetch.connector import fetch_connector
from tools.fetch import CannotFetch, fetch_java, fetch_java_compiler, fetch_kafka, fetch_kcat
from tools.fetch.kafka import fetch_clients

FETCHERS: dict[str, Callable[[], object]] = {
    "java": fetch_java,
    "java-compiler": fetch_java_compiler,
    "kafka": fetch_kafka,
    "kcat": fetch_kcat,
    "clients": fetch_clients,
    "spark-connector": fetch_connector,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="*", choices=[*FETCHERS, []], metavar="|".join(FETCHERS))
    missing = False
    for name in parser.parse_args().wanted or FETCHERS:
        try:
            print(f"{name}: {FETCHERS[name]()}")
        except CannotFetch as error:
            missing = True
            print(f"{name}: {error}", file=sys.stderr)
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
