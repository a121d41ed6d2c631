"""What this package decides."""

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.quotas.alter_client_quotas import decide_alter_client_quotas
from barnabas_controller.managers.quotas.describe_client_quotas import (
    decide_describe_client_quotas,
)
from barnabas_core.wire.api_key import ApiKey

APIS = (
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, decide_describe_client_quotas),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, decide_alter_client_quotas),
)
