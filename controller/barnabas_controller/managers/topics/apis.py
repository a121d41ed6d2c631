"""What the topics manager decides."""

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.topics.create_partitions import decide_create_partitions
from barnabas_controller.managers.topics.create_topics import decide_create_topics
from barnabas_controller.managers.topics.delete_topics import decide_delete_topics
from barnabas_core.wire.api import ApiKey

APIS: tuple[Api, ...] = (
    Api(ApiKey.CREATE_TOPICS, decide_create_topics),
    Api(ApiKey.DELETE_TOPICS, decide_delete_topics),
    Api(ApiKey.CREATE_PARTITIONS, decide_create_partitions),
)
