"""A port of loopback here, served by the same port of loopback in another network namespace.

`python -m tools.kube.forward PID PORT`: listens here first, then moves into the namespace of that
process, from where it connects. Ends when the process does.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

_CLONE_NEWNET = 0x40000000
_CHUNK_BYTES = 1 << 16


def main() -> None:
    pid, port = int(sys.argv[1]), int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    enter_network_of(pid)
    asyncio.run(serve(listener, port, pid))


def enter_network_of(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        if libc.setns(namespace, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network of process {pid}")
    finally:
        os.close(namespace)


async def serve(listener: socket.socket, port: int, pid: int) -> None:
    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 5)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    server = await asyncio.start_server(on_connection, sock=listener)
    over = os.pidfd_open(pid)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(over, ended.set)
    async with server:
        await ended.wait()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


if __name__ == "__main__":
    main()
