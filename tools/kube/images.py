"""The project's images: `make images`. On a machine that cannot pull, the base is made here too."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.kube.debian_root import debian_root, pack
from tools.kube.docker import Docker, DockerFailed, find_docker
from tools.kube.report import progress
from tools.kube.wheels import TREE, write_context

TAG: Final = "dev"
STOCK_BASE: Final = "python:3.11-slim"
OWN_BASE: Final = "barnabas.local/debian-python:3.11"
BASE_PACKAGES: Final = ("python3", "python-is-python3", "ca-certificates")
CLIENT: Final = f"barnabas/client:{TAG}"


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    dockerfile: str
    lock: str = "image.txt"
    role: str = ""
    with_barnabas: bool = True
    context: str = ""
    """A folder of the tree whose files go along."""

    @property
    def tag(self) -> str:
        return f"barnabas/{self.name}:{TAG}"


IMAGES: Final = (
    Image("controller", "Dockerfile.controller"),
    Image("broker", "Dockerfile.broker"),
    Image("group-coordinator", "Dockerfile.coordinator", role="group"),
    Image("operator", "Dockerfile.operator", lock="image-operator.txt"),
    Image(
        "client",
        "tests/e2e/client/Dockerfile",
        lock="image-client.txt",
        with_barnabas=False,
        context="tests/e2e/client",
    ),
)


def buildable_images() -> list[Image]:
    """All but those whose program is not in this tree."""
    has_operator = (TREE / "operator" / "barnabas_operator" / "__main__.py").exists()
    return [one for one in IMAGES if one.name != "operator" or has_operator]


def build_images(docker: Docker | None = None) -> list[str]:
    """Their tags."""
    docker = docker or find_docker()
    base = base_image(docker)
    images = buildable_images()
    for left_out in set(IMAGES) - set(images):
        progress(f"{left_out.tag}: left out, its program is not in this tree")
    for image in images:
        progress(f"{image.tag}: building on {base}")
        _build(docker, image, base)
    return [image.tag for image in images]


def image_sizes(docker: Docker, tags: Iterable[str]) -> dict[str, int]:
    """Bytes, unpacked, the base included."""
    inspect = ("image", "inspect", "--format", "{{.Size}}")
    return {tag: int(docker.run(*inspect, tag)) for tag in tags}


def base_image(docker: Docker) -> str:
    if not docker.is_private:
        try:
            docker.run("pull", "--quiet", STOCK_BASE)
        except DockerFailed as error:
            progress(f"{STOCK_BASE} cannot be pulled ({error}); making a base")
        else:
            return STOCK_BASE
    if not docker.has_image(OWN_BASE):
        import_root(docker, debian_root(BASE_PACKAGES, "a base image with Python"), OWN_BASE)
    return OWN_BASE


def import_root(docker: Docker, root: Path, tag: str, *changes: str) -> None:
    """A one-layer image of a root file system."""
    options = [word for change in changes for word in ("--change", change)]
    with pack(root) as tar:
        assert tar.stdout is not None
        docker.run("import", *options, "-", tag, stdin=tar.stdout)
    if tar.returncode != 0:
        raise DockerFailed(f"{tag}: tar ended with {tar.returncode}")


def _build(docker: Docker, image: Image, base: str) -> None:
    context = TREE / "dist" / "images" / image.name
    context.mkdir(parents=True, exist_ok=True)
    write_context(context, image.lock, with_barnabas=image.with_barnabas)
    if image.context:
        for file in (TREE / image.context).glob("*.py"):
            (context / file.name).write_bytes(file.read_bytes())
    options = ["--build-arg", f"BASE={base}"]
    if image.role:
        options += ["--build-arg", f"ROLE={image.role}"]
    options += ["--tag", image.tag, "--file", str(TREE / image.dockerfile)]
    docker.run("build", "--quiet", *options, str(context))
