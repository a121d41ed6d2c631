"""Where rows go, a batch at a time, by Spark's number of the batch.

After a crash Spark gives the last batch again, with the same number and the same rows. A table
knows the numbers it has (`commit_log`) and takes none twice; a topic takes it again, with the same
ids.
"""
