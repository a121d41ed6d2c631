"""Who may do what, and how a peer proves who it is."""
