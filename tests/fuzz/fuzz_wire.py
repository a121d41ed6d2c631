"""Coverage-guided fuzzing of all decoders: whatever comes in, a message or `DecodeError` comes out.

usage: fuzz_wire.py [--seconds N] [libFuzzer options such as -max_total_time=600; files to replay]

The first two bytes of an input choose a (message, version), or a request frame with its header; the
rest is decoded. What decodes must encode, and decode again to what encodes to the same bytes. The
compiled decoders are instrumented like the modules around them. A run starts from Kafka's own
vectors and from what earlier runs found; that corpus, and a `crash-*` file for each failure, are in
the cache directory (BARNABAS_CACHE, by default ~/.cache/barnabas).
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import atheris  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["barnabas_core.wire"]):
    from barnabas_core.wire import codec, frame
    from barnabas_core.wire.catalog import message_class, message_names
    from barnabas_core.wire.error import DecodeError
    from barnabas_core.wire.messages.request_header import RequestHeader
    from barnabas_core.wire.schema import Message
    from tools.check_vectors import Vector, parse_vector, read_vectors

LIMITS = {"-max_total_time": 600, "-timeout": 10, "-rss_limit_mb": 2048}
SELECTOR_BYTES = 2

PAIRS: list[tuple[type[Message], int]] = [
    (message, version)
    for name in message_names()
    for message in [message_class(name)]
    for version in range(message.MIN_VERSION, message.MAX_VERSION + 1)
]
FRAME = len(PAIRS)


def decode_any(data: bytes) -> tuple[Message, int]:
    selector = int.from_bytes(data[:SELECTOR_BYTES], "big") % (FRAME + 1)
    body = data[SELECTOR_BYTES:]
    if selector == FRAME:
        header, message = frame.decode_request(body)
        return message, header.request_api_version
    kind, version = PAIRS[selector]
    return codec.decode(kind, version, body), version


def check_one_input(data: bytes) -> None:
    try:
        message, version = decode_any(data)
    except DecodeError:
        return
    encoded = codec.encode(message, version)
    again = codec.decode(type(message), version, encoded)
    # Bytes are compared and not messages: a float that is not a number equals nothing.
    assert codec.encode(again, version) == encoded, f"{type(message).__name__} version {version}"


def instrument_decoders() -> None:
    """Compiled by `exec`, they are not seen by the import hook."""
    for message, version in PAIRS:
        atheris.instrument_func(codec.decoder(message, version))


def seeds() -> Iterator[bytes]:
    numbers = {(kind.__name__, version): number for number, (kind, version) in enumerate(PAIRS)}
    for path in sorted((ROOT / "tests" / "protocol" / "vectors").glob("*.jsonl.gz")):
        for _, line in read_vectors(path):
            vector = parse_vector(line, are_defaults=False)
            number = numbers[vector.message, vector.version]
            yield number.to_bytes(SELECTOR_BYTES, "big") + vector.data
            if PAIRS[number][0].KIND == "request":
                yield FRAME.to_bytes(SELECTOR_BYTES, "big") + request_frame(vector)


def request_frame(vector: Vector) -> bytes:
    key = message_class(vector.message).KEY
    assert key is not None
    header = RequestHeader(key, vector.version, 7, "fuzz")
    header_version = frame.api_of(key).request_header_version(vector.version)
    return codec.encode(header, header_version) + vector.data


def write_seeds(corpus: Path) -> None:
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (corpus / f"seed-{number:05d}").write_bytes(seed)


def libfuzzer_arguments(arguments: list[str], cache: Path) -> list[str]:
    """`--seconds N` becomes libFuzzer's own option; limits that are not given are added."""
    if "--seconds" in arguments:
        at = arguments.index("--seconds")
        arguments[at : at + 2] = [f"-max_total_time={int(arguments[at + 1])}"]
    wanted = {**LIMITS, "-artifact_prefix": f"{cache}/"}
    given = {argument.partition("=")[0] for argument in arguments}
    return [*arguments, *(f"{name}={wanted[name]}" for name in wanted if name not in given)]


def main() -> None:
    home = os.environ.get("BARNABAS_CACHE") or Path.home() / ".cache" / "barnabas"
    cache = Path(home) / "fuzz-wire"
    cache.mkdir(parents=True, exist_ok=True)
    arguments = libfuzzer_arguments(sys.argv[1:], cache)
    if all(argument.startswith("-") for argument in arguments):
        write_seeds(cache / "corpus")
        arguments.append(str(cache / "corpus"))
    print(f"corpus and failures: {cache}; instrumenting {len(PAIRS)} decoders", file=sys.stderr)
    instrument_decoders()
    atheris.Setup([sys.argv[0], *arguments], check_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
