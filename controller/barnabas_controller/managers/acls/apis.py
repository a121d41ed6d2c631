"""What this package decides."""

from barnabas_controller.managers.acls.create_acls import decide_create_acls
from barnabas_controller.managers.acls.delete_acls import decide_delete_acls
from barnabas_controller.managers.acls.describe_acls import decide_describe_acls
from barnabas_controller.managers.api import Api
from barnabas_core.wire.api_key import ApiKey

APIS = (
    Api(ApiKey.DESCRIBE_ACLS, decide_describe_acls),
    Api(ApiKey.CREATE_ACLS, decide_create_acls),
    Api(ApiKey.DELETE_ACLS, decide_delete_acls),
)
