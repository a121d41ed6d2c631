"""Every object of a cluster as a pure function of its `Blueprint`.

Nothing here asks Kubernetes or a clock: the same blueprint gives the same objects, to the byte, so
applying them again writes nothing.
"""
