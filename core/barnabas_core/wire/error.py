"""What can be wrong with bytes that came in, or with a message that is to go out.

A peer can cause every `DecodeError`; the server closes the connection (or answers an error code)
and goes on. An `EncodeError` is this side's own mistake: a value that the wire, or the version
asked for, cannot carry.
"""


class WireError(Exception):
    """Either side of the codec."""


class DecodeError(WireError):
    """The bytes are not a message of the version they claim to be."""


class Underflow(DecodeError):
    """The buffer ends before the message does."""


class LengthBeyondBuffer(Underflow):
    """A length field promises more bytes than there are."""


class NegativeLength(DecodeError):
    """A length below -1, which stands for nothing at all."""


class LengthTooLarge(DecodeError):
    """A string longer than 32,767 bytes, which Kafka never writes."""


class UnexpectedNull(DecodeError):
    """Null in a field that is never null at this version."""


class BadUtf8(DecodeError):
    """A string that is not UTF-8."""


class BadVarint(DecodeError):
    """A varint that does not end after its longest possible form."""


class TooManyElements(DecodeError):
    """An array or tag count beyond Kafka's bounds, or beyond what the bytes left could hold."""


class BadTag(DecodeError):
    """Tags out of order, or a tagged value that is not as long as it says."""


class TrailingBytes(DecodeError):
    """The message ended before its buffer did."""


class UnknownMessage(DecodeError):
    """No message has this api key, record type or name."""


class EncodeError(WireError):
    """The message holds a value that cannot be written."""


class UnsupportedField(EncodeError):
    """A field that this version cannot carry has a value that must not be lost."""


class UnknownVersion(DecodeError, EncodeError):
    """The message has no such version, to read or to write."""
