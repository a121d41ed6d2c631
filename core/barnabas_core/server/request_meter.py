"""How many requests of each api, how long they took and where, and which errors they got.

A request passes five moments: its frame was whole, a handler began, the handler returned, the
answer was there, the answer was handed to the transport. Between them lie Kafka's phases:

    queue: behind other requests of its connection    local: in the handler
    remote: for other brokers, the disk, more records, the quorum    response: on its way out

A connection serves one request at a time, so one trace per connection is enough. Counting a
request is a few clock readings and additions: about a microsecond, and nothing is allocated.
"""

from collections.abc import Callable, Iterator
from typing import Final

from barnabas_core.ports import Clock
from barnabas_core.runtime.metrics.definition import counter, histogram
from barnabas_core.runtime.metrics.histogram import UNIT_SHIFT, Histogram
from barnabas_core.runtime.metrics.registry import Figure
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode

REQUESTS: Final = counter(
    "barnabas_requests_total",
    "Requests answered.",
    "api",
    jmx="kafka.network:type=RequestMetrics,name=RequestsPerSec,request=*",
)
ERRORS: Final = counter(
    "barnabas_request_errors_total",
    "Errors in answers, one for each topic, partition or resource that got one.",
    "api",
    "error",
    jmx="kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=*,error=*",
)
TOTAL_TIME: Final = histogram(
    "barnabas_request_time_seconds",
    "From the last byte of a request to the last byte of its answer, as far as this side sees it.",
    "api",
    jmx="kafka.network:type=RequestMetrics,name=TotalTimeMs,request=*",
)
PHASE_TIME: Final = histogram(
    "barnabas_request_phase_time_seconds",
    "The same by phase: queue, local, remote, response.",
    "api",
    "phase",
    jmx="kafka.network:type=RequestMetrics,"
    "name={RequestQueueTimeMs,LocalTimeMs,RemoteTimeMs,ResponseSendTimeMs},request=*",
)
METRICS: Final = (REQUESTS, ERRORS, TOTAL_TIME, PHASE_TIME)


class ApiMeter:
    """The requests of one api."""

    __slots__ = ("errors", "local", "name", "queue", "remote", "response", "total")

    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: dict[int, int] = {}
        self.queue = Histogram()
        self.local = Histogram()
        self.remote = Histogram()
        self.response = Histogram()
        self.total = Histogram()


class RequestTrace:
    """The moments of the request that a connection serves at present."""

    __slots__ = ("_api", "_arrived_ns", "_handled_ns", "_now_ns", "_ready_ns", "_started_ns")

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._api: ApiMeter | None = None
        self._arrived_ns = self._started_ns = self._handled_ns = self._ready_ns = 0

    def on_started(self, arrived_ns: int) -> None:
        self._api = None
        self._arrived_ns = arrived_ns
        self._started_ns = self._now_ns()

    def on_handled(self, api: ApiMeter) -> None:
        """The handler has returned; what it returned may be the answer, or a promise of it."""
        self._api = api
        self._handled_ns = self._ready_ns = self._now_ns()

    def on_ready(self) -> None:
        """The answer that was promised is there."""
        self._ready_ns = self._now_ns()

    def on_sent(self) -> None:
        api = self._api
        if api is None:  # refused before it had a handler
            return
        self._api = None
        now_ns = self._now_ns()
        times, took_ns = api.queue, self._started_ns - self._arrived_ns
        times.counts[(took_ns >> UNIT_SHIFT).bit_length()] += 1
        times.total_ns += took_ns
        times, took_ns = api.local, self._handled_ns - self._started_ns
        times.counts[(took_ns >> UNIT_SHIFT).bit_length()] += 1
        times.total_ns += took_ns
        times, took_ns = api.remote, self._ready_ns - self._handled_ns
        times.counts[(took_ns >> UNIT_SHIFT).bit_length()] += 1
        times.total_ns += took_ns
        times, took_ns = api.response, now_ns - self._ready_ns
        times.counts[(took_ns >> UNIT_SHIFT).bit_length()] += 1
        times.total_ns += took_ns
        times, took_ns = api.total, now_ns - self._arrived_ns
        times.counts[(took_ns >> UNIT_SHIFT).bit_length()] += 1
        times.total_ns += took_ns


class RequestMeter:
    """The requests of one node, whichever listener they come by."""

    def __init__(self, clock: Clock) -> None:
        self._now_ns = clock.monotonic_ns
        self._apis: dict[ApiKey, ApiMeter] = {}

    def new_trace(self) -> RequestTrace:
        return RequestTrace(self._now_ns)

    def of(self, key: ApiKey) -> ApiMeter:
        found = self._apis.get(key)
        if found is None:
            found = self._apis[key] = ApiMeter(API_BY_KEY[key].name)
        return found

    def __call__(self) -> Iterator[Figure]:
        for api in list(self._apis.values()):
            yield Figure(REQUESTS, (api.name,), api.total.count)
            yield Figure(TOTAL_TIME, (api.name,), api.total)
            yield Figure(PHASE_TIME, (api.name, "queue"), api.queue)
            yield Figure(PHASE_TIME, (api.name, "local"), api.local)
            yield Figure(PHASE_TIME, (api.name, "remote"), api.remote)
            yield Figure(PHASE_TIME, (api.name, "response"), api.response)
            for code, count in list(api.errors.items()):
                yield Figure(ERRORS, (api.name, _error_name(code)), count)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
