"""Progress lines, so that nobody takes half an hour of building for a hang."""

import sys
import time

_begun_at = time.monotonic()


def progress(line: str) -> None:
    print(f">> kube {time.monotonic() - _begun_at:5.0f} s: {line}", file=sys.stderr, flush=True)
