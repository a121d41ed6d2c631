"""What decoders raise; apart, so that documents are checked without Spark."""


class Undecodable(Exception):
    """A value that is not what it should be; the message goes into `bad_reason`."""
