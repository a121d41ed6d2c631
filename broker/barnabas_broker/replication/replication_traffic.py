"""How much was replicated: sent to followers, and taken from leaders."""


class ReplicationTraffic:
    __slots__ = ("bytes_in", "bytes_out")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
