"""Which leader wrote what."""
