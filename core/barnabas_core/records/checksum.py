"""CRC-32C, as the `crc32c` package computes it: by the processor, and without the GIL when large.

The package's `__init__` asks for its own version, for which Python loads its mail and zip modules:
a tenth of what a broker takes to start. So its extension module is loaded alone.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import cast

from barnabas_core.ports.disk import Buffer

Checksum = Callable[[Buffer], int]


def _load() -> Checksum:
    package = find_spec("crc32c")
    assert package is not None, "the crc32c package is a dependency"
    extension = PathFinder.find_spec("_crc32c", package.submodule_search_locations)
    if extension is None or extension.loader is None:
        from crc32c import crc32c as slowly_loaded  # noqa: PLC0415  laid out differently

        return slowly_loaded
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    return cast("Checksum", module.crc32c)


crc32c = _load()
