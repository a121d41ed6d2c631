"""`python -m tools.fetch [java] [kafka] [kcat]`: all three when none is named."""

import argparse
import sys
from collections.abc import Callable

from tools.fetch import CannotFetch, fetch_java, fetch_kafka, fetch_kcat

FETCHERS: dict[str, Callable[[], object]] = {
    "java": fetch_java,
    "kafka": fetch_kafka,
    "kcat": fetch_kcat,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="*", choices=[*FETCHERS, []], metavar="java|kafka|kcat")
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
