"""One api that a controller decides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.api import ApiKey


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    decide: Callable[[View, Any, Context], Result[Any]]
    cluster_action: bool = False
    """Only other nodes of the cluster may ask for it, never a client."""
