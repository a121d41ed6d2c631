"""Reading for consumers: sessions, targets, and the wait for more."""
