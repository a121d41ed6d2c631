"""What a cluster says when it cannot do what it is asked."""


class ClusterError(Exception):
    """The cluster cannot start, or cannot do that; the message says why in one line."""
