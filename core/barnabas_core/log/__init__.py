"""The commit log on disk, in Kafka's own format.

`manager` holds the logs of a broker, `partition_log` is one of them: `append` checks what comes in,
`write`, `read` and `flush` are its way to the disk and back. The folders are what a log is made of;
`cleaner` compacts it.
"""
