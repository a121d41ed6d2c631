"""A clock that the test moves."""


class ManualClock:
    def __init__(self, at_ms: int = 1_700_000_000_000) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_ms(self) -> int:
        return self.at_ms

    def monotonic_ns(self) -> int:
        return self.at_ms * 1_000_000

    def advance(self, by_ms: int) -> None:
        self.at_ms += by_ms
