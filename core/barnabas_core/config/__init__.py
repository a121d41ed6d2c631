"""Kafka's configuration: names, types, defaults and validation, from the tables in `table/`.

Nothing here is needed to start with defaults, so nothing reads a table before a value is set.
"""
