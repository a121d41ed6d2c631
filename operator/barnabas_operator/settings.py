"""What the operator's process is told by its Deployment, in variables of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas_operator.specs.blueprint import Images

METRICS_PORT = 9405
_NAME = "barnabas-operator"
_NAMESPACE = "default"
_IMAGES = Images()


class BadSetting(Exception):
    """A variable that means nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    namespaces: tuple[str, ...] = ()
    """Where to look for resources; none: everywhere."""
    own_namespace: str = _NAMESPACE
    """Where its Lease is."""
    pod_name: str = _NAME
    """Its name among those that want the Lease."""
    images: Images = _IMAGES
    metrics_port: int = METRICS_PORT
    """Of /metrics, /healthz and /readyz."""

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> "Settings":
        """`BadSetting` names the variable."""
        images = Images(
            variables.get("BARNABAS_IMAGE_PREFIX", _IMAGES.prefix),
            variables.get("BARNABAS_IMAGE_TAG", _IMAGES.tag),
            variables.get("BARNABAS_IMAGE_PULL_POLICY", _IMAGES.pull_policy),
        )
        listed = variables.get("BARNABAS_NAMESPACES", "")
        return cls(
            tuple(name.strip() for name in listed.split(",") if name.strip()),
            variables.get("POD_NAMESPACE", _NAMESPACE),
            variables.get("POD_NAME", _NAME),
            images,
            _port(variables, "BARNABAS_METRICS_PORT", METRICS_PORT),
        )


def _port(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name, str(default))
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise BadSetting(f"{name}: expected a port, got {text!r}")
    return int(text)
