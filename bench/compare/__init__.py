"""Barnabas beside Apache Kafka: the same clients, the same machine, the same run.

    python -m bench.compare [--only NAME,...] [--quick] [--skip-kafka] [--no-write]

A *side* is Kafka or Barnabas, a *cluster* its running processes. A *scenario* is a piece of work
that is measured on each side several times, the sides taking turns, so that what else the machine
does meanwhile falls on both; the median of each figure counts, and goals are about the ratio of
Barnabas to Kafka. Clients run in processes of their own. While one side is measured the other is
there and idle, or is not there at all.
"""
