"""A Spark job that proves a topic's integrity, or says where it ends.

`spec` is what to look at and for what; `run` does it. Each check is a query whose heavy part runs
on Spark and whose result is small: `batches` (from the segments' files: damage, holes, producers'
sequences), `steps` (from record to record: holes, order, sequences), `repeats` (ids that occur
twice) and `comparison` (with another topic or a table). `report` is what was found, `page` shows
it.
"""
