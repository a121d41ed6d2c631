"""Schemas by id, for values that begin with a schema registry's five bytes: 0, then the id.

The lookup is pluggable: a directory of files, a registry's address, or a function of the user's.
"""

import importlib
import json
import struct
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from barnabas_pipeline.decode.undecodable import Undecodable
from barnabas_pipeline.spec.model import RegistrySpec

PREFIX: Final = struct.Struct(">bI")
_TIMEOUT_S: Final = 10

Lookup = Callable[[int], str]


def split_prefix(value: bytes) -> tuple[int, int]:
    """The schema's id and where the payload begins."""
    if len(value) < PREFIX.size:
        raise Undecodable(f"{len(value)} bytes are too few for a registry's prefix")
    magic, schema_id = PREFIX.unpack_from(value)
    if magic != 0:
        raise Undecodable(f"no registry's prefix: the first byte is {value[0]}, not 0")
    return schema_id, PREFIX.size


def open_lookup(registry: RegistrySpec) -> Lookup:
    """Schema id to schema text; `Undecodable` where there is no such schema."""
    if registry.directory is not None:
        return _directory_lookup(Path(registry.directory))
    if registry.url is not None:
        return _url_lookup(registry.url)
    assert registry.function is not None, "one of the three"
    module, _, name = registry.function.partition(":")
    found: Lookup = getattr(importlib.import_module(module), name)
    return found


def _directory_lookup(directory: Path) -> Lookup:
    def lookup(schema_id: int) -> str:
        try:
            return (directory / f"{schema_id}.avsc").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Undecodable(f"no schema {schema_id} in {directory}") from None

    return lookup


def _url_lookup(url: str) -> Lookup:
    def lookup(schema_id: int) -> str:
        address = f"{url.rstrip('/')}/schemas/ids/{schema_id}"
        try:
            with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as response:  # noqa: S310
                return str(json.load(response)["schema"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise Undecodable(f"the registry has no schema {schema_id}") from error
            raise  # an operating failure: the batch is tried again, and no record called bad

    return lookup
