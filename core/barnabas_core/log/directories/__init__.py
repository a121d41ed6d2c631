"""A log directory: whose it is, how it was left, and the small files that remember offsets."""
