"""Brokers and controllers: who is registered, who is alive, who is on the way out."""
