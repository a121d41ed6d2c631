"""Finding a place in a segment: by offset, by time; and which transactions were aborted in it."""
