"""Decisions on metadata: a request and the state in, records and the answer out."""
