"""What Spark needs beyond Python packages: a Java runtime found, connector jars fetched.

Jars are asked for by package name, pinned to a version and checked against a lock; they land in a
cache outside any work tree (BARNABAS_CACHE, by default ~/.cache/barnabas).
"""
