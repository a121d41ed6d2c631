"""Replication between brokers: followers subscribe, leaders send, acknowledgements come back."""
