"""What a leader knows of its partition: how far each replica is, who is in sync, what is committed.

Pure: time is passed in. The ISR is the controller's decision; a leader proposes another one, and
until the answer is there, counts with the larger of the two: a replica that is being added may be
elected any moment, and one that is being removed is still in (KIP-497).
"""

from collections.abc import Callable
from typing import Final, Protocol

from barnabas_core.metadata.partition_image import PartitionImage

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class Subscriber(Protocol):
    """A follower's end of the replication of one partition."""

    def wake(self) -> None:
        """The log's end or its high watermark has moved."""
        ...


class Progress:
    """How far one follower is."""

    __slots__ = (
        "acked",
        "broker_epoch",
        "caught_up_at_ms",
        "log_start",
        "sent_at_ms",
        "sent_end",
    )

    def __init__(self, now_ms: int) -> None:
        self.acked = NO_OFFSET
        """Where its log ends: all before is in its file."""
        self.broker_epoch = NO_EPOCH
        self.log_start = 0
        # A new leader gives everybody the full time.
        self.caught_up_at_ms = now_ms
        self.sent_end = NO_OFFSET
        self.sent_at_ms = now_ms


class Leadership:
    """Lasts one leader epoch."""

    __slots__ = (
        "_local_id",
        "_progress",
        "isr",
        "partition_epoch",
        "proposed",
        "replicas",
        "start_offset",
        "subscribers",
    )

    def __init__(self, local_id: int, start_offset: int) -> None:
        """`start_offset`: where the log ended when the epoch began."""
        self._local_id = local_id
        self.start_offset = start_offset
        self.isr: tuple[int, ...] = ()
        self.replicas: tuple[int, ...] = ()
        self.partition_epoch = -1
        self.proposed: tuple[int, ...] | None = None
        """The ISR that the controller was asked for, while it has not answered."""
        self._progress: dict[int, Progress] = {}
        self.subscribers: dict[int, Subscriber] = {}
        """Followers with an open stream, by broker id."""

    # --- what the controller decides

    def update(self, image: PartitionImage, now_ms: int) -> None:
        """Older news than is known already changes nothing."""
        if image.partition_epoch < self.partition_epoch:
            return
        self.decided(image.isr, image.partition_epoch)
        self.replicas = image.replicas
        self._progress = {
            broker_id: self._progress.get(broker_id) or Progress(now_ms)
            for broker_id in image.replicas
            if broker_id != self._local_id
        }

    def decided(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """The ISR is this one now, as an image or the answer to a proposal says."""
        if partition_epoch < self.partition_epoch:
            return
        if partition_epoch > self.partition_epoch:
            self.proposed = None
        self.isr = isr
        self.partition_epoch = partition_epoch

    def refused(self, partition_epoch: int) -> None:
        """The proposal made at this epoch came to nothing."""
        if partition_epoch == self.partition_epoch:
            self.proposed = None

    # --- what followers do

    def on_subscribed(self, broker_id: int, broker_epoch: int, offset: int) -> bool:
        """Whether it is a replica at all. It has everything below `offset`, as this leader has."""
        progress = self._progress.get(broker_id)
        if progress is None:
            return False
        progress.broker_epoch = broker_epoch
        progress.acked = offset
        progress.sent_end = NO_OFFSET
        return True

    def on_sent(self, broker_id: int, log_end: int, now_ms: int) -> None:
        """Something was sent, when the log ended at `log_end`."""
        progress = self._progress.get(broker_id)
        if progress is not None:
            progress.sent_end = log_end
            progress.sent_at_ms = now_ms

    def on_acked(self, broker_id: int, offset: int, log_end: int, now_ms: int) -> None:
        progress = self._progress.get(broker_id)
        if progress is None:
            return
        progress.acked = offset
        if offset >= log_end:
            progress.caught_up_at_ms = now_ms
        elif progress.sent_end != NO_OFFSET and offset >= progress.sent_end:
            # It has all there was when the last chunk left: under load that is as good as it gets.
            progress.caught_up_at_ms = max(progress.caught_up_at_ms, progress.sent_at_ms)

    def on_log_start(self, broker_id: int, offset: int) -> bool:
        """Where a follower's log starts; whether that is news."""
        progress = self._progress.get(broker_id)
        if progress is None or progress.log_start == offset:
            return False
        progress.log_start = offset
        return True

    def low_watermark(self, log_start: int) -> int:
        """Where the logs of all live replicas start at the latest: nothing below is anywhere."""
        starts = [
            self._progress[one].log_start for one in self.subscribers if one in self._progress
        ]
        return min((log_start, *starts))

    def progress(self, broker_id: int) -> Progress | None:
        return self._progress.get(broker_id)

    def is_caught_up(self, broker_id: int, log_end: int) -> bool:
        progress = self._progress.get(broker_id)
        return progress is not None and progress.acked >= log_end

    # --- what follows

    def is_under_min_isr(self, min_insync_replicas: int) -> bool:
        return len(self.isr) < min(min_insync_replicas, len(self.replicas))

    def high_watermark(self, end_offset: int, min_insync_replicas: int) -> int:
        """What every replica in sync has written; -1 while too few are in sync (KIP-966)."""
        if self.is_under_min_isr(min_insync_replicas):
            return NO_OFFSET
        lowest = end_offset
        for broker_id, progress in self._progress.items():
            if progress.acked < lowest and self._counts(broker_id):
                lowest = progress.acked
        return lowest

    def _counts(self, broker_id: int) -> bool:
        return broker_id in self.isr or (self.proposed is not None and broker_id in self.proposed)

    def decide_isr(
        self,
        ends: tuple[int, int],
        now_ms: int,
        lag_ms_max: int,
        is_eligible: Callable[[int], bool],
    ) -> tuple[int, ...] | None:
        """The ISR to propose, None if it is right as it is or a proposal is under way.

        `ends`: the log's end and the high watermark. Who joins has all that is committed and all
        that earlier epochs wrote; who leaves has not been at the end of the log for too long.
        """
        if self.proposed is not None:
            return None
        log_end, high_watermark = ends
        needed = max(high_watermark, self.start_offset)
        wanted = [self._local_id]
        for broker_id, progress in self._progress.items():
            if broker_id in self.isr:
                if not self._is_too_slow(broker_id, log_end, now_ms, lag_ms_max):
                    wanted.append(broker_id)
            elif (
                progress.acked >= needed
                and broker_id in self.subscribers
                and is_eligible(broker_id)
            ):
                wanted.append(broker_id)
        if len(wanted) == len(self.isr) and all(broker_id in self.isr for broker_id in wanted):
            return None
        return tuple(sorted(wanted, key=self.replicas.index))

    def _is_too_slow(self, broker_id: int, log_end: int, now_ms: int, lag_ms_max: int) -> bool:
        progress = self._progress[broker_id]
        if progress.acked >= log_end and broker_id in self.subscribers:
            # At the end on a live stream: a partition that nobody writes to needs no traffic.
            progress.caught_up_at_ms = now_ms
            return False
        return now_ms - progress.caught_up_at_ms > lag_ms_max

    def wake_subscribers(self) -> None:
        for subscriber in list(self.subscribers.values()):
            subscriber.wake()
