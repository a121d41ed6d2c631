"""What to do next, decided on plain data: `plan(desired, observed)` returns actions, nothing more.

    desired    what the resource asks for, resolved (desired.py)
    observed   what Kubernetes and the cluster said in this round (observed.py)
    actions    what the caller does now, in order (actions.py)

Every decision is taken anew from what is observed; nothing is remembered between two rounds but
what stands in the resource's status. So an operator that dies at any step goes on where it was.
"""
