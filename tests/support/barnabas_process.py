"""Our own cluster as users start it: `barnabas up` in a process of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.process import Child, running

PROGRAM = Path(sys.executable).parent / "barnabas"


@contextmanager
def running_barnabas(directory: Path, *options: str) -> Iterator[tuple[Child, str]]:
    """The process and its bootstrap address, once it answers."""
    command = [str(PROGRAM), "up", "--port", "0", *options]
    with running(command, directory / "barnabas.out") as child:
        yield child, child.wait_for_line("bootstrap: ")
