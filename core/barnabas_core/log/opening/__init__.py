"""From a directory to a log: loading after a clean stop, recovery after any other."""
