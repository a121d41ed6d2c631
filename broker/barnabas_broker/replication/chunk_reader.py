"""Bytes of a log for a follower: as they lie there, from memory if they are still in it."""

from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.read import LogRead, ReadPending
from barnabas_core.ports import Buffer, Executor


async def read_chunk(log: PartitionLog, offset: int, max_bytes: int, executor: Executor) -> Buffer:
    """Whole batches from `offset` on; the last may be cut, which the follower leaves out.

    At least one batch, however large it is. What `PartitionLog.read` raises comes from here.
    """
    while True:
        try:
            read = log.read(offset, max_bytes, up_to=log.log_end_offset, may_block=False)
        except ReadPending as pending:
            await executor.in_thread(pending.warm)
        else:
            return await _bytes_of(read, executor)


async def _bytes_of(read: LogRead, executor: Executor) -> Buffer:
    pieces: list[Buffer] = []
    for piece in read.slices:
        data = piece.try_read(0, len(piece))
        if data is None or len(data) < len(piece):
            return await executor.in_thread(read.bytes)
        pieces.append(data)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
