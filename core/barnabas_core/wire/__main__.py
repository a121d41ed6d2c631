"""python -m barnabas_core.wire show FetchRequest 12: the source that is compiled for it."""

import sys

from barnabas_core.wire.catalog import message_class
from barnabas_core.wire.decode_source import decode_source
from barnabas_core.wire.encode_source import encode_source
from barnabas_core.wire.error import WireError
from barnabas_core.wire.schema import check_version


def show(name: str, version: int) -> str:
    message = message_class(name)
    check_version(message, version)
    return f"{decode_source(message, version).text}\n\n{encode_source(message, version).text}"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["show", name, version] if version.isdecimal():
            try:
                sys.stdout.write(show(name, int(version)))
            except WireError as error:
                sys.stderr.write(f"{error}\n")
                return 1
            return 0
        case _:
            sys.stderr.write("usage: python -m barnabas_core.wire show MESSAGE VERSION\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
