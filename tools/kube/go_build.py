"""Programs from the Go module proxy, each a cache entry of its own.

Go's module and build caches lie beside them: the programs of one module share most of their
packages. Builds are niced, since a machine that builds Kubernetes has other work.
"""

import json
import re
import shutil
import time
from pathlib import Path

from barnabas_pipeline.fetch.cache import CannotFetch, cache_dir, cached, run
from tools.kube.report import progress
from tools.kube.versions import BY_NAME, KUBERNETES, GoProgram

BUILD_TIMEOUT_S = 3600.0
_VERSION_PACKAGE = "k8s.io/component-base/version"
_STAGED = re.compile(r"^\s+(k8s\.io/[a-z0-9-]+) v0\.0\.0$", re.MULTILINE)


def program(name: str) -> Path:
    """Path of a program of the table, built first where it is missing."""
    wanted = BY_NAME[name]
    return cached(wanted.entry, lambda target: _build(wanted, target)) / wanted.name


def is_built(name: str) -> bool:
    return (cache_dir() / BY_NAME[name].entry).is_dir()


def _build(wanted: GoProgram, target: Path) -> None:
    if shutil.which("go") is None:
        raise CannotFetch(f"{wanted.name} {wanted.version} is built with Go, which is not here")
    progress(f"{wanted.name} {wanted.version}: modules")
    sources = target / "src"
    sources.mkdir()
    if wanted.module == "k8s.io/kubernetes":
        _write_kubernetes_module(sources)
    else:
        _write_module(sources, wanted)
    progress(f"{wanted.name} {wanted.version}: compiling")
    begun_at = time.monotonic()
    command = ["nice", "-n", "19", "go", "build", "-trimpath", "-p", "2"]
    command += ["-ldflags", _linker_flags(wanted), "-o", str(target / wanted.name), wanted.package]
    _go(command, wanted.name, sources)
    shutil.rmtree(sources)
    progress(f"{wanted.name} {wanted.version}: built in {time.monotonic() - begun_at:.0f} s")


def _write_module(sources: Path, wanted: GoProgram) -> None:
    (sources / "go.mod").write_text("module build\n\ngo 1.24.0\n")
    _go(["go", "get", f"{wanted.module}@v{wanted.version}"], wanted.name, sources)


def _write_kubernetes_module(sources: Path) -> None:
    """Its own go.mod names its staged modules by path; ours names them by version."""
    module = sources / "go.mod"
    module.write_text("module build\n\ngo 1.24.0\n")
    asked = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}"]
    downloaded = json.loads(_go(asked, "kubernetes", sources))
    staged = _STAGED.findall(Path(downloaded["GoMod"]).read_text())
    version = f"v0.{KUBERNETES.removeprefix('1.')}"
    replaced = "".join(f"\t{name} => {name} {version}\n" for name in staged)
    with module.open("a") as file:
        file.write(f"\nrequire k8s.io/kubernetes v{KUBERNETES}\n\nreplace (\n{replaced})\n")


def _linker_flags(wanted: GoProgram) -> str:
    if wanted.module != "k8s.io/kubernetes":
        return wanted.linker_flags
    major, minor, _ = KUBERNETES.split(".")
    # kubeadm and client libraries parse these; without them a server calls itself v0.0.0.
    stamps = {
        "gitVersion": f"v{KUBERNETES}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "module-proxy",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    said = " ".join(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())
    return f"{wanted.linker_flags} {said}"


def _go(command: list[str], what: str, directory: Path) -> str:
    home = cache_dir() / "kube"
    return run(
        command,
        what,
        directory=directory,
        timeout_s=BUILD_TIMEOUT_S,
        GOMODCACHE=str(home / "go-modules"),
        GOCACHE=str(home / "go-build"),
        GOPATH=str(home / "go-path"),
        GOFLAGS="-mod=mod -buildvcs=false",
        GOTOOLCHAIN="local",
        GOWORK="off",
        CGO_ENABLED="0",
    )


def module_directory(name: str) -> Path:
    """The unpacked sources of a program's module, which carry files beside the code."""
    wanted = BY_NAME[name]
    asked = ["go", "mod", "download", "-json", f"{wanted.module}@v{wanted.version}"]
    home = cache_dir() / "kube"
    home.mkdir(parents=True, exist_ok=True)
    return Path(json.loads(_go(asked, name, home))["Dir"])
