"""The group coordinator: classic groups, consumer groups, and the offsets of both."""
