"""Metrics that clients push (KIP-714), and that Prometheus gets with the broker's own."""
