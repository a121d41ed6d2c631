"""kcat: the machine's own, or Debian's package unpacked into the cache (which needs no root)."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from barnabas_pipeline.fetch.cache import cached, progress
from tools.fetch.debian import library_path, unpack_packages


@dataclass(frozen=True, slots=True)
class Kcat:
    program: Path
    environment: dict[str, str]


def fetch_kcat() -> Kcat:
    for name in ("kcat", "kafkacat"):
        found = shutil.which(name)
        if found:
            return Kcat(Path(found), {})
    root = cached("kcat", unpack)
    return Kcat(root / "usr" / "bin" / "kcat", {"LD_LIBRARY_PATH": library_path(root)})


def unpack(target: Path) -> None:
    progress("kcat and its libraries (6 MB) with apt")
    unpack_packages(target, ["kcat"], "kcat")
