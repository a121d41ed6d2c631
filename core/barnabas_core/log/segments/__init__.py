"""The files of one partition: their names, what is in them, and the caches in front of them."""
