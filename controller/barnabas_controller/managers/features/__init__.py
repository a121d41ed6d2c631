"""Features: which levels the cluster runs, and what a node of this release supports."""
