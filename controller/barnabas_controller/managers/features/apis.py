"""The apis of this package."""

from typing import Final

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.features.update import decide_update_features
from barnabas_core.wire.api import ApiKey

APIS: Final = (Api(ApiKey.UPDATE_FEATURES, decide_update_features),)
