"""Bytes to columns. JSON and CSV are Spark's own; Avro and Protobuf are decoded in Python.

Every decoder gives the columns of the value, those of `columns`, and `bad_reason`: null, or why the
value could not be decoded. What becomes of bad rows is decided later.
"""
