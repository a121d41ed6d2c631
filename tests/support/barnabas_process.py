"""Our own cluster as users start it: `barnabas up` in a process of its own."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.process import Child, running

PROGRAM = Path(sys.executable).parent / "barnabas"


@contextmanager
def running_barnabas(directory: Path, *options: str) -> Iterator[tuple[Child, str]]:
    """The process and its bootstrap address, once it answers; it ends in order if all is well."""
    command = [str(PROGRAM), "up", "--port", "0", *options]
    # A killed one cannot remove its temporary directory: it goes with the test's.
    environment = {"TMPDIR": os.environ.get("TMPDIR", str(directory))}
    with running(command, directory / "barnabas.out", environment) as child:
        yield child, child.wait_for_line("bootstrap: ")
        if child.process.poll() is None:
            child.stop()
