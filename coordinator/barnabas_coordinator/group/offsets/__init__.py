"""Committed offsets: commits, fetches, expiry, and those of transactions under way."""
