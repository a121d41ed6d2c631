"""The apis of this package."""

from typing import Final

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.producer_ids.allocation import decide_allocate_producer_ids
from barnabas_core.wire.api import ApiKey

APIS: Final = (
    Api(ApiKey.ALLOCATE_PRODUCER_IDS, decide_allocate_producer_ids, cluster_action=True),
)
