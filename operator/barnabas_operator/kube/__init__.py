"""Kubernetes as the operator sees it: a thin client, a lease, and objects as plain data."""
