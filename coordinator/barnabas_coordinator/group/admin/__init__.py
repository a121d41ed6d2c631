"""Groups as administrators see them: listed, described, deleted."""
