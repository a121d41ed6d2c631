"""One round for one resource: look, plan, act, tell. Idempotent, and never waits for anything."""
