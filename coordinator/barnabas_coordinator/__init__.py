"""Coordinators: what groups, transactions and share groups decide, kept in topics of brokers."""
