"""Are there access control entries at all? Only with an authorizer: Kafka's own, which is ours."""

from barnabas_controller.managers.view import View

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def has_authorizer(view: View) -> bool:
    """A name of any other class is refused when a node starts."""
    return bool(view.settings.static_configs.get("authorizer.class.name", "").strip())
