"""Why a pipeline cannot run or ended: one class per thing that an operator would do about it."""


class PipelineError(Exception):
    """The message says what happened and what to do."""


class TopicRecreated(PipelineError):
    """The offsets of the checkpoint belong to a topic that is no more."""


class QueryFailed(PipelineError):
    """Spark ended the query; the message is the innermost cause."""
