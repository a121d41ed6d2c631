"""What a server may be sent by somebody who means no good, from one seed.

    hostile = HostileRequests(7, served, topic_id)
    kind, data = hostile.next()

Every API at every version that is served comes up in turn, now and then one that is not: with
arbitrary values in its fields, and as a well-formed request of which some bytes were changed, left
out or repeated. Between them are frames of noise, halves of frames, and lengths that nobody means.
"""

import random
import struct
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from barnabas_core.records.builder import build_batch
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error import EncodeError
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.schema import Field, Message, Struct
from tests.support.admin_requests import ADMIN_REQUESTS
from tests.support.plain_message import from_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HANG_UP_KINDS: Final = frozenset(("half a frame", "a huge length"))
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}
_UNSERVED_SHARE: Final = 0.1
_SMALL: Final = (0, 1, 2, 3, -1, -2, -3, -4, -5, 4, 8)
# How long a request may take is not what is tried here: the run would wait for it.
_TIMES: Final = frozenset(("max_wait_ms", "timeout_ms", "max_wait_time"))
_TEXTS: Final = (
    "",
    "good",
    "absent",
    "1",
    "-1",
    "user",
    "alice",
    "client-id",
    "retention.ms",
    "cleanup.policy",
    "compact",
    "producer_byte_rate",
    "metadata.version",
    "__cluster_metadata",
    "User:alice",
    "*",
    "..",
    "a/b",
    "nul\0",
    "\N{SNOWMAN}",
    "n" * 249,
    "n" * 250,
    "x" * 3_000,
)
_PLAIN: Final[dict[ApiKey, dict[str, Any]]] = {
    ApiKey.METADATA: {"topics": [{"name": "good"}]},
    ApiKey.LIST_OFFSETS: {
        "replica_id": -1,
        "topics": [{"name": "good", "partitions": [{"partition_index": 0, "timestamp": -1}]}],
    },
    ApiKey.INIT_PRODUCER_ID: {"transactional_id": None, "transaction_timeout_ms": 1_000},
    ApiKey.API_VERSIONS: {"client_software_name": "hostile", "client_software_version": "1"},
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: {"client_instance_id": b"i" * 16},
    ApiKey.PUSH_TELEMETRY: {"client_instance_id": b"i" * 16, "metrics": b"\n\0"},
    **ADMIN_REQUESTS,
}


class Hostile(NamedTuple):
    kind: str
    data: bytes

    @property
    def hangs_up(self) -> bool:
        return self.kind in HANG_UP_KINDS


class HostileRequests:
    def __init__(self, seed: int, served: "Sequence[tuple[ApiKey, int]]", topic_id: bytes) -> None:
        """`topic_id`: of a topic `good`, with records."""
        self._rng = random.Random(seed)
        self._topic_id = topic_id
        self._served = cycle(served)
        self._all = cycle(_every_version())
        self._kinds = {
            "any values": (45, self._any_values),
            "changed bytes": (40, self._changed_bytes),
            "noise": (7, self._noise),
            "half a frame": (4, self._half_a_frame),
            "a huge length": (4, self._huge_length),
        }

        rng = self._rng
        self._scalars: dict[str, Callable[[], object]] = {
            "bool": lambda: rng.random() < 0.5,
            "string": lambda: rng.choice(_TEXTS),
            "float64": lambda: rng.choice((0.0, -1.0, 1e300, float("inf"), float("nan"))),
            "uuid": lambda: rng.choice((bytes(16), topic_id, rng.randbytes(16))),
            "records": self._records,
            "bytes": lambda: rng.randbytes(rng.choice((0, 1, 30, 300))),
        }

    def next(self) -> Hostile:
        names = list(self._kinds)
        weights = [weight for weight, _ in self._kinds.values()]
        [kind] = self._rng.choices(names, weights)
        return Hostile(kind, self._kinds[kind][1]())

    # --- kinds

    def _any_values(self) -> bytes:
        key, version = self._version()
        request = self._struct(API_BY_KEY[key].request, version)
        assert isinstance(request, Message)
        return self._encoded(request, version)

    def _changed_bytes(self) -> bytes:
        key, version = self._version()
        body = bytearray(self._encoded(self._valid(key, version), version)[4:])
        for _ in range(self._rng.choice((0, 1, 1, 2, 3, 8))):
            self._change(body)
        return struct.pack(">i", len(body)) + body

    def _noise(self) -> bytes:
        body = self._rng.randbytes(self._rng.choice((0, 1, 4, 9, 10, 11, 40, 500)))
        return struct.pack(">i", len(body)) + body

    def _half_a_frame(self) -> bytes:
        length = self._rng.choice((10, 1_000, 100_000, 50_000_000))
        sent = self._rng.randbytes(self._rng.randrange(min(length, 100_000)))
        return struct.pack(">i", length) + sent

    def _huge_length(self) -> bytes:
        length = self._rng.choice((-1, -(2**31), 2**31 - 1, 100 * 1024 * 1024 + 1))
        return struct.pack(">i", length) + b"rest"

    # --- their parts

    def _version(self) -> tuple[ApiKey, int]:
        return next(self._all if self._rng.random() < _UNSERVED_SHARE else self._served)

    def _valid(self, key: ApiKey, version: int) -> Message:
        request = API_BY_KEY[key].request
        if key in (ApiKey.PRODUCE, ApiKey.FETCH):
            return self._data_request(key, version)
        if key in _PLAIN:
            return from_plain(request, _PLAIN[key], version)
        made = self._struct(request, version)
        assert isinstance(made, Message)
        return made

    def _data_request(self, key: ApiKey, version: int) -> Message:
        topic: dict[str, Any] = {"topic_id": self._topic_id}
        if key == ApiKey.PRODUCE:
            data = {"index": 0, "records": self._records()}
            topic |= {"name": "good", "partition_data": [data]}
            plain = {"acks": 1, "timeout_ms": 10, "topic_data": [topic]}
        else:
            part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
            topic |= {"topic": "good", "partitions": [part]}
            plain = {"max_wait_ms": 1, "topics": [topic]}
        return from_plain(API_BY_KEY[key].request, plain, version)

    def _change(self, body: bytearray) -> None:
        """Behind the key and the version, which the next request has again."""
        rng = self._rng
        first = 8
        if len(body) <= first:
            return
        at = rng.randrange(first, len(body))
        match rng.randrange(5):
            case 0:
                body[at] = rng.randrange(256)
            case 1:
                body[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
            case 2:
                del body[at:]
            case 3:
                body[at:at] = body[at : at + rng.randrange(1, 40)]
            case _:
                body[at : at + 4] = struct.pack(">i", rng.choice((-1, 2**31 - 1, 2**24, 0)))

    def _struct(self, cls: type[Struct], version: int) -> Struct:
        values = {
            field.name: self._value(field, version) for field in cls.FIELDS if field.is_in(version)
        }
        return cls(**values)

    def _value(self, field: Field, version: int) -> object:
        rng = self._rng
        if field.is_nullable(version) and rng.random() < 0.15:
            return None
        if field.is_array:
            return [self._element(field, version) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
        return self._element(field, version)

    def _element(self, field: Field, version: int) -> object:
        if field.struct is not None:
            return self._struct(field.struct, version)
        if field.name in _TIMES:
            return self._rng.choice((-1, 0, 1, 20))
        bits = _BITS.get(field.element)
        if bits is not None:
            return self._integer(bits, unsigned=field.element.startswith("u"))
        return self._scalars[field.element]()

    def _integer(self, bits: int, *, unsigned: bool) -> int:
        half = 1 << bits - 1
        low = 0 if unsigned else -half
        drawn = self._rng.choice((*_SMALL, *_SMALL, low, half - 1, self._rng.randrange(low, half)))
        return max(low, drawn)

    def _records(self) -> bytes | None:
        rng = self._rng
        if rng.random() < 0.05:
            return None
        batch = build_batch([(b"k", b"v" * 50)] * 3, timestamp_ms=1_700_000_000_000)
        for _ in range(rng.choice((0, 0, 1, 3))):
            batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.2:
            del batch[rng.randrange(len(batch)) :]
        return bytes(batch)

    def _encoded(self, request: Message, version: int) -> bytes:
        """A field that this version cannot carry makes it a frame of its head alone."""
        try:
            parts = encode_request(request, version, 1, self._rng.choice((None, "", "hostile")))
        except EncodeError:
            return struct.pack(">ihhih", 10, request.KEY, version, 1, -1)
        return b"".join(cast("list[bytes]", parts))


def _every_version() -> list[tuple[ApiKey, int]]:
    return [
        (info.key, version)
        for _, info in sorted(API_BY_KEY.items())
        for version in range(info.request.MIN_VERSION, info.request.MAX_VERSION + 1)
    ]
