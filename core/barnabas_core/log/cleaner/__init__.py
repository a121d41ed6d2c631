"""Log compaction: the newest record of each key survives, at its offset.

`selection` picks the log, `key_map` and `clean` rewrite its segments in a worker process, `swap`
puts the result in place, and `manager` owns the state of it all. docs/design/0007-compaction.md
tells why it is built this way.
"""
