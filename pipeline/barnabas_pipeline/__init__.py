"""Data pipelines on Spark: from topics to tables and topics, declared in a YAML document.

A document becomes a typed spec before Spark is started (`spec`, which imports no Spark); a spec
becomes a streaming query: a source, a decoder, steps, sinks. Rows reach files exactly once, and
topics at least once with an id by which a reader can tell the second time.

    from barnabas_pipeline import Pipeline
    Pipeline.load("orders.yaml").run(spark)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas_pipeline.pipeline import Pipeline
    from barnabas_pipeline.session import spark_session

__all__ = ["Pipeline", "spark_session"]

# Imported when asked for: who only checks a document needs no Spark.
_MODULE_OF: Final = {
    "Pipeline": "barnabas_pipeline.pipeline",
    "spark_session": "barnabas_pipeline.session",
}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(name)
    return getattr(import_module(module), name)
