"""The quorum of controllers: the pure Raft core, brought to disk and links."""
