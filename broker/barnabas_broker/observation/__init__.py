"""The broker as it is seen from outside: figures, readiness."""
