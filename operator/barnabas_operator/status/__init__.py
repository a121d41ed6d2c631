"""What the operator says about a resource, derived from what it saw and what it plans."""
