"""A Parquet table back into a topic: bounded, at a given rate, and resumable.

`job` reads the table's files as a stream that ends with the last of them, so that Spark's own
checkpoint remembers which are done; `pace` holds the rate.
"""
