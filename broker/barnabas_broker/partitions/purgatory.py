"""Requests that wait for something to happen in a partition, or for their time to run out.

An operation waits in all of its partitions at once. When one of them changes, it is asked whether
that was enough; when it was, or when its time is up, it leaves all of them. There is at most one
waiting request per connection, so the bound on connections is the bound on this.

A watcher stays: it is told of every change until it looks away.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas_broker.partitions.partition import Partition
from barnabas_core.runtime.timers import Timers

if TYPE_CHECKING:
    from barnabas_core.runtime.timing_wheel import Timeout


class Operation(Protocol):
    def is_satisfied(self, changed: Partition) -> bool:
        """Decide whether to go on waiting; nothing else."""
        ...

    def complete(self) -> None:
        """The waiting is over, by success or by time. It is in no partition's list any more."""
        ...


class Watcher(Protocol):
    def on_changed(self, partition: Partition) -> None: ...


class Purgatory:
    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._watchers: dict[Partition, dict[Watcher, None]] = {}
        self._waiting: dict[Partition, dict[Operation, None]] = {}
        self._operations: dict[Operation, tuple[Sequence[Partition], Timeout]] = {}

    def __len__(self) -> int:
        return len(self._operations)

    def wait(self, operation: Operation, partitions: Sequence[Partition], timeout_ms: int) -> None:
        timeout = self._timers.after(timeout_ms, lambda: self.release(operation))
        self._operations[operation] = (partitions, timeout)
        for partition in partitions:
            self._waiting.setdefault(partition, {})[operation] = None

    def wake(self, partition: Partition) -> None:
        """It has changed."""
        if partition in self._watchers:
            self._tell_watchers(partition)
        operations = self._waiting.get(partition)
        if operations is None:
            return
        for operation in list(operations):
            if operation.is_satisfied(partition):
                self.release(operation)

    def wake_all(self, partition: Partition) -> None:
        """It is gone: nobody has anything to wait for in it."""
        if partition in self._watchers:
            self._tell_watchers(partition)
        for operation in list(self._waiting.get(partition, ())):
            self.release(operation)

    def forget(self, operation: Operation) -> None:
        """Nobody wants it any more."""
        entry = self._operations.pop(operation, None)
        if entry is None:
            return
        partitions, timeout = entry
        self._timers.cancel(timeout)
        for partition in partitions:
            operations = self._waiting.get(partition)
            if operations is not None:
                operations.pop(operation, None)
                if not operations:
                    del self._waiting[partition]

    @property
    def has_watchers(self) -> bool:
        return bool(self._watchers)

    def watch(self, partition: Partition, watcher: Watcher) -> None:
        self._watchers.setdefault(partition, {})[watcher] = None

    def unwatch(self, partition: Partition, watcher: Watcher) -> None:
        watchers = self._watchers.get(partition)
        if watchers is not None:
            watchers.pop(watcher, None)
            if not watchers:
                del self._watchers[partition]

    def _tell_watchers(self, partition: Partition) -> None:
        for watcher in list(self._watchers[partition]):
            watcher.on_changed(partition)

    def release(self, operation: Operation) -> None:
        """It has waited long enough, if it still waits."""
        if operation in self._operations:
            self.forget(operation)
            operation.complete()
