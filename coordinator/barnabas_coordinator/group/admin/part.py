"""The functions of this part, by what they are for."""

from typing import Final

from barnabas_coordinator.group.admin.delete_groups import decide_delete_groups
from barnabas_coordinator.group.admin.describe_groups import decide_describe_groups
from barnabas_coordinator.group.admin.list_groups import decide_list_groups
from barnabas_coordinator.group.group_state import Part
from barnabas_core.wire.api_key import ApiKey

ADMIN: Final = Part(
    handlers={
        ApiKey.LIST_GROUPS: decide_list_groups,
        ApiKey.DESCRIBE_GROUPS: decide_describe_groups,
        ApiKey.DELETE_GROUPS: decide_delete_groups,
    }
)
