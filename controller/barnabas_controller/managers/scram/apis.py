"""What this package decides."""

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.scram.alter_user_scram_credentials import (
    decide_alter_user_scram_credentials,
)
from barnabas_controller.managers.scram.describe_user_scram_credentials import (
    decide_describe_user_scram_credentials,
)
from barnabas_core.wire.api_key import ApiKey

APIS = (
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, decide_describe_user_scram_credentials),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, decide_alter_user_scram_credentials),
)
