"""Kafka's wire protocol: every message of 4.4 as a typed dataclass, and its bytes.

`codec` encodes and decodes; `messages` has one generated module per message; `frame` puts headers
around them; `api` and `error_code` are Kafka's tables. Nothing is imported here: a process loads
the messages that it uses, and no more.
"""
