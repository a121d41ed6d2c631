"""Writing for producers: what an answer waits for, and which records were at fault."""
