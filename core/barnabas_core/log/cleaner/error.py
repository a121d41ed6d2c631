"""Why a log was not cleaned."""


class CleaningFailed(Exception):
    """Any reason; the log is as it was."""


class UncleanableLog(CleaningFailed):
    """Its files are damaged, or one batch alone exceeds the memory bound.

    It is left alone from now on, until somebody has repaired it and the broker starts anew.
    """


class CleaningAborted(CleaningFailed):
    """Its segments changed meanwhile, or somebody paused it: it may be cleaned another time."""
