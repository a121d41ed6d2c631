"""Schemas by id, from wherever the spec says."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.error import HTTPError

import pytest

from barnabas_pipeline.decode.registry import open_lookup
from barnabas_pipeline.decode.undecodable import Undecodable
from barnabas_pipeline.spec.model import RegistrySpec


class Registry(BaseHTTPRequestHandler):
    """Knows schema 7, and breaks when asked for 500."""

    def do_GET(self) -> None:
        status = {"/schemas/ids/7": 200, "/schemas/ids/500": 500}.get(self.path, 404)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps({"schema": '"string"'}).encode())

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(30)


def test_a_registry_is_asked_by_http(url: str) -> None:
    assert open_lookup(RegistrySpec(url=url))(7) == '"string"'


def test_a_schema_that_the_registry_does_not_have_makes_a_record_bad(url: str) -> None:
    with pytest.raises(Undecodable, match="no schema 8"):
        open_lookup(RegistrySpec(url=url))(8)


def test_a_registry_that_fails_makes_no_record_bad(url: str) -> None:
    with pytest.raises(HTTPError) as caught:
        open_lookup(RegistrySpec(url=url))(500)
    caught.value.close()


def test_a_function_may_look_schemas_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_lookup.py").write_text("def find(schema_id):\n    return str(schema_id)\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert open_lookup(RegistrySpec(function="my_lookup:find"))(5) == "5"
    sys.modules.pop("my_lookup")
