"""The assignors there are, by the names that clients and `group.consumer.assignors` use."""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas_coordinator.group.consumer.assignor_range import assign_range
from barnabas_coordinator.group.consumer.assignor_uniform import assign_uniform
from barnabas_coordinator.group.consumer.assignor_view import Assignment, GroupView

ASSIGNORS: Final[Mapping[str, Callable[[GroupView], Assignment]]] = {
    "uniform": assign_uniform,
    "range": assign_range,
}
