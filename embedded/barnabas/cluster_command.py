"""`barnabas cluster status`: what the operator says about a cluster in Kubernetes.

Kubernetes' client and the operator's resources come with an extra, and are loaded when asked for.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any, cast


class CannotTell(Exception):
    """There is nothing to tell, or nobody to ask."""


def cluster_status(namespace: str, name: str) -> int:
    """The exit status: 0 if it could be told, whatever it is."""
    try:
        lines = _report(_read(namespace, name))
    except ModuleNotFoundError as error:
        return _fail(f"{error.name} is missing: pip install 'barnabas[operator]'")
    except CannotTell as error:
        return _fail(f"{namespace}/{name}: {error}")
    print("\n".join(lines))
    return 0


def _read(namespace: str, name: str) -> dict[str, Any]:
    """As kubectl would: with the context of the user's kubeconfig, or that of the pod."""
    from kubernetes import client, config  # noqa: PLC0415 - an extra
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as above

    from barnabas_operator.api.kinds import CLUSTER, GROUP, VERSION  # noqa: PLC0415 - as above

    chosen = os.environ.get("KUBECONFIG")
    try:
        config.load_config(**({"config_file": chosen} if chosen else {}))  # type: ignore[no-untyped-call]
        found = client.CustomObjectsApi().get_namespaced_custom_object(
            GROUP, VERSION, namespace, CLUSTER.plural, name, _request_timeout=15
        )
    except client.ApiException as error:
        raise CannotTell(str(error.reason)) from error
    except (config.ConfigException, HTTPError, OSError) as error:
        raise CannotTell(str(error)) from error
    return cast("dict[str, Any]", found)


def _report(resource: Mapping[str, Any]) -> list[str]:
    from barnabas_operator.api.parsing import InvalidResource  # noqa: PLC0415 - an extra
    from barnabas_operator.report import cluster_report  # noqa: PLC0415 - as above

    try:
        return cluster_report(resource)
    except InvalidResource as error:
        raise CannotTell(str(error)) from error


def _fail(reason: str) -> int:
    print(f"barnabas: {reason}", file=sys.stderr)
    return 1
