"""kopf at the edge: it watches, and says that something happened. Nothing is decided here."""
