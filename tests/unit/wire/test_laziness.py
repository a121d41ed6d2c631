"""A process loads the messages that it uses, and nothing of what it does not need."""

import subprocess
import sys

import pytest

PACKAGE = "barnabas_core.wire"


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement and had not before."""
    script = (
        "import sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    return set(run.stdout.split())


def messages_in(modules: set[str]) -> set[str]:
    prefix = f"{PACKAGE}.messages."
    return {name.removeprefix(prefix) for name in modules if name.startswith(prefix)}


def test_importing_the_package_loads_nothing_of_it() -> None:
    modules = loaded_by(f"import {PACKAGE}")

    assert {name for name in modules if name.startswith(PACKAGE)} == {PACKAGE}


def test_importing_the_codec_loads_no_message() -> None:
    modules = loaded_by(f"import {PACKAGE}.codec, {PACKAGE}.api, {PACKAGE}.error_code")

    assert messages_in(modules) == set()


def test_importing_frames_loads_the_two_headers() -> None:
    modules = loaded_by(f"import {PACKAGE}.frame")

    assert messages_in(modules) == {"request_header", "response_header"}


def test_using_an_api_loads_its_two_messages() -> None:
    modules = loaded_by(
        f"from {PACKAGE}.api import API_BY_KEY\n"
        f"from {PACKAGE}.codec import decoder, encoder\n"
        "decoder(API_BY_KEY[3].request, 12), encoder(API_BY_KEY[3].response, 12)"
    )

    assert messages_in(modules) == {"metadata_request", "metadata_response"}


@pytest.mark.parametrize("module", ["json", "csv", "grpc", "asyncio", "socket", "random", "time"])
def test_the_whole_codec_never_loads(module: str) -> None:
    modules = loaded_by(
        f"import {PACKAGE}.frame, {PACKAGE}.error_code\n"
        f"from {PACKAGE}.frame import decode_request_header\n"
        r"decode_request_header(b'\0\x12\0\3\0\0\0\0\xff\xff\0')"
    )

    assert f"{PACKAGE}.frame" in modules
    # Python itself may have loaded it before the statement ran; then it is not in the difference.
    assert module not in modules
