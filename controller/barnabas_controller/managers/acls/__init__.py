"""Access control entries: stored and told, enforced elsewhere."""
