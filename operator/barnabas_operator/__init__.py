"""The Kubernetes operator: resources in, clusters out.

`api` says what the resources are, `specs` what objects follow from one, `plan` what to do next;
kopf, at the edge, calls them.
"""
