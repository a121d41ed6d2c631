"""Closed log segments read without a broker, as a Spark data source.

`record_columns` is the core: bytes of batches to columns, for all records at once. `walk` finds the
batches, `log_files` and `stability` what may be seen of them, `plan` which segments a query needs,
and `source` puts it before Spark. Nothing but `source` and `pushdown` needs Spark.
"""
