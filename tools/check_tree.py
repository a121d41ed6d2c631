"""House rules that no linter knows: what may stand where in the tree, and under which name.

Top-level folders are source roots: with an `__init__.py` in it, `operator/` would shadow Python's
own `operator`. `python tools/check_tree.py` checks the files that git tracks; the tests run it too.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

SOURCE_ROOTS = (
    "core",
    "broker",
    "controller",
    "coordinator",
    "operator",
    "pipeline",
    "embedded",
)
OTHER_FOLDERS = (".ci", "bench", "charts", "docs", "manifests", "requirements", "tests", "tools")
TOP_FILES = re.compile(
    r"\.gitignore|\.pre-commit-config\.yaml|CHANGELOG\.md|CONTRIBUTING\.md|Dockerfile\.[a-z]+"
    r"|LICENSE|Makefile|README\.md|pyproject\.toml"
)

LINES_MAX = 400
GENERATED = re.compile(r"\A(#|\"\"\").*\bgenerated\b", re.IGNORECASE)

EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "base", "misc"})

MACHINE_PATHS = re.compile(r"(?<![\w./-])/(work|root|home/[a-z]\w*)(?![\w-])")
REGISTRY_HOSTS = re.compile(
    r"\b(pypi\.org|pythonhosted\.org|maven\.org|maven\.apache\.org/maven2|deb\.debian\.org)\b"
)


def problems(root: Path, files: list[str]) -> list[str]:
    """One line per broken rule; `files` are relative to `root`."""
    found: list[str] = []
    for name in sorted(files):
        path = PurePosixPath(name)
        found += check_place(path)
        if path.suffix == ".py":
            found += check_name(path)
        text = read_text(root / path)
        if text is not None:
            found += check_text(path, text)
    return found


def check_place(path: PurePosixPath) -> Iterator[str]:
    top = path.parts[0]
    if len(path.parts) == 1:
        if not TOP_FILES.fullmatch(top):
            yield f"{path}: not a file that belongs at the top"
    elif top not in SOURCE_ROOTS and top not in OTHER_FOLDERS:
        yield f"{path}: {top}/ is not a folder of this tree"
    if path.name == "__init__.py" and (len(path.parts) == 2 or top == "tests"):
        yield f"{path}: {path.parent}/ is no package, and must not hold an __init__.py"
    if top in SOURCE_ROOTS and len(path.parts) > 1 and not path.parts[1].startswith("barnabas"):
        yield f"{path}: {top}/ is a source root, and holds one package named barnabas..."


def check_name(path: PurePosixPath) -> Iterator[str]:
    # Below a source root every folder is a package; elsewhere a folder is only a place.
    names = [path.stem, *path.parts[1:-1]] if path.parts[0] in SOURCE_ROOTS else [path.stem]
    for name in names:
        if name in sys.stdlib_module_names:
            yield f"{path}: `{name}` is the name of a standard module"
        if name in EMPTY_NAMES:
            yield f"{path}: `{name}` does not say what is in it"


def check_text(path: PurePosixPath, text: str) -> Iterator[str]:
    lines = text.count("\n")
    is_product = path.suffix == ".py" and path.parts[0] in SOURCE_ROOTS
    if is_product and lines > LINES_MAX and not GENERATED.search(text):
        yield f"{path}: {lines} lines, and {LINES_MAX} are enough"
    for rule, what in ((MACHINE_PATHS, "a path of one machine"), (REGISTRY_HOSTS, "a registry")):
        match = rule.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: `{match[0]}` names {what}"


def read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None  # binary


def tracked_files(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    return [name for name in listed.split("\0") if name and (root / name).is_file()]


def main() -> int:
    root = Path(__file__).parents[1]
    found = problems(root, tracked_files(root))
    print("\n".join(found) or "the tree is in order")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
