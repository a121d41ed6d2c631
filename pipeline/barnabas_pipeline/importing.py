"""Functions of the user's by import path; modules beside the document are found too."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import SparkSession

from barnabas_pipeline.pipeline_error import PipelineError


def import_function(
    path: str, directory: Path, spark: SparkSession | None = None
) -> Callable[..., Any]:
    """`package.module:function`; a module of the document's directory goes to the executors too."""
    module_name, _, name = path.partition(":")
    try:
        module = _import(module_name, directory)
    except ImportError as error:
        raise PipelineError(f"{path}: {error} (looked beside the document too)") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise PipelineError(f"{path}: {module_name} has no function {name}")
    file = Path(module.__file__ or "")
    if spark is not None and file.parent == directory.absolute():
        spark.sparkContext.addPyFile(str(file))
    return function  # type: ignore[no-any-return]


def _import(module_name: str, directory: Path) -> ModuleType:
    place = str(directory.absolute())
    if place not in sys.path:
        sys.path.append(place)  # stays: what the function imports later is found there too
    return importlib.import_module(module_name)
