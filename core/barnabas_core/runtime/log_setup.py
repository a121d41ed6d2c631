"""The process's log: one structured line per event on standard error, as text or as JSON.

structlog renders; it is imported with the first line that is written, because that import costs a
tenth of the start-up time of an embedded cluster that may never have anything to say.

A peer can provoke some events at will (a malformed frame, a refused connection). `FloodLimit`
lets the first few of them per interval through and counts the rest, so that nobody fills a disk
from outside; the count comes with the next line that gets through.
"""

import sys
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from barnabas_core.ports import Clock
from barnabas_core.runtime.log_levels import ROOT, LogLevels

if TYPE_CHECKING:
    from structlog.typing import Processor

LogFormat = Literal["console", "json"]

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_KAFKA_NAMES: Final = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR"}


class EventLog:
    """Where a process says what happened."""

    def __init__(
        self, *, form: LogFormat = "console", level: str = "info", stream: TextIO | None = None
    ) -> None:
        self._form = form
        self._stream = stream
        self._logger: Any = None
        self._above: EventLog | None = None
        self.name = ROOT
        self.levels = LogLevels(_KAFKA_NAMES[level])
        """Of all loggers of the process."""

    def named(self, name: str) -> "EventLog":
        """A logger for one part of the process, with a level that can be set by itself."""
        part = copy(self)
        part.name = name
        part._above = self._above or self
        self.levels.add(name)
        return part

    def debug(self, event: str, **fields: object) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write("error", event, fields)

    def failure(self, event: str, error: BaseException, **fields: object) -> None:
        """An error whose traceback somebody will want to see."""
        self._write("error", event, {**fields, "error": repr(error), "exc_info": error})

    def _write(self, level: str, event: str, fields: dict[str, object]) -> None:
        if _LEVELS[level] < self.levels.thresholds[self.name]:
            return
        if self._above is not None:
            fields = {**fields, "logger": self.name}
        self._render(level, event, fields)

    def _render(self, level: str, event: str, fields: dict[str, object]) -> None:
        if self._above is not None:
            self._above._render(level, event, fields)
            return
        if self._logger is None:
            self._logger = _build(self._form, self._stream or sys.stderr)
        getattr(self._logger, level)(event, **fields)


class FloodLimit:
    """At most `line_count` lines of one kind per interval; the others are counted."""

    def __init__(
        self, log: EventLog, clock: Clock, *, line_count: int = 10, interval_ms: int = 10_000
    ) -> None:
        self._log = log
        self._clock = clock
        self._line_count = line_count
        self._interval_ms = interval_ms
        self._interval_end_ms = 0
        self._written_count = 0
        self._left_out_count = 0

    def info(self, event: str, **fields: object) -> None:
        if self._lets_through(fields):
            self._log.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        if self._lets_through(fields):
            self._log.warning(event, **fields)

    def failure(self, event: str, error: BaseException, **fields: object) -> None:
        if self._lets_through(fields):
            self._log.failure(event, error, **fields)

    def _lets_through(self, fields: dict[str, object]) -> bool:
        """If so, with the number of those that were left out before."""
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._interval_end_ms:
            self._interval_end_ms = now_ms + self._interval_ms
            self._written_count = 0
        if self._written_count >= self._line_count:
            self._left_out_count += 1
            return False
        if self._left_out_count:
            fields["similar_left_out"] = self._left_out_count
            self._left_out_count = 0
        self._written_count += 1
        return True


def _build(form: LogFormat, stream: TextIO) -> Any:  # noqa: ANN401 - structlog types its loggers so
    import structlog  # noqa: PLC0415 - see above

    renderer: list[Processor]
    if form == "json":
        renderer = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback
        renderer = [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]
    return structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderer,
        ],
        wrapper_class=structlog.BoundLogger,
    )
