"""Where a follower cuts its log, when the leader says that the two differ (KIP-595, KIP-279)."""

from barnabas_core.log.epochs.leader_epoch import LeaderEpochCache


def truncation_offset(
    epochs: LeaderEpochCache, log_end: int, diverging_epoch: int, diverging_end: int
) -> int:
    """The follower's log is the leader's up to here, or up to some point before.

    `diverging_epoch`: the largest epoch up to the follower's last that the leader knows, and where
    it ends there. If the follower has nothing of that epoch, it cuts off all that is younger and
    asks again with what is left.
    """
    own_epoch, own_end = epochs.end_offset_for(diverging_epoch, log_end)
    if own_epoch < 0 or own_end < 0:
        return min(diverging_end, log_end)
    if own_epoch != diverging_epoch:
        return min(own_end, log_end)
    return min(own_end, diverging_end, log_end)
