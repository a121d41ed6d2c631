"""Shards of coordinators that this broker owns: partitions of internal topics that it leads."""
