"""What this package decides."""

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.configs.alter_configs import decide_alter_configs
from barnabas_controller.managers.configs.describe_configs import decide_describe_configs
from barnabas_controller.managers.configs.incremental_alter_configs import (
    decide_incremental_alter_configs,
)
from barnabas_controller.managers.configs.list_config_resources import decide_list_config_resources
from barnabas_core.wire.api_key import ApiKey

APIS = (
    Api(ApiKey.DESCRIBE_CONFIGS, decide_describe_configs),
    Api(ApiKey.ALTER_CONFIGS, decide_alter_configs),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, decide_incremental_alter_configs),
    Api(ApiKey.LIST_CONFIG_RESOURCES, decide_list_config_resources),
)
