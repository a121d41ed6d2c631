"""The dashboard for Grafana: a table of panels, two in a row."""

from typing import Any, Final, NamedTuple

_SELECTED: Final = 'namespace="$namespace",barnabas_dev_cluster="$cluster"'
_TIMES: Final = "sum by (le, api) (rate(barnabas_request_time_seconds_bucket{SELECTED}[5m]))"
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2


class Panel(NamedTuple):
    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """(expression, legend); `SELECTED` stands for the chosen cluster."""


PANELS: Final = (
    Panel(
        "Partitions in trouble",
        "short",
        (
            ("sum(barnabas_controller_offline_partitions{SELECTED})", "no leader"),
            ("sum(barnabas_under_min_isr_partitions{SELECTED})", "below min ISR"),
            ("sum(barnabas_under_replicated_partitions{SELECTED})", "not all in sync"),
            ("sum(barnabas_offline_replicas{SELECTED})", "on a failed disk"),
        ),
    ),
    Panel(
        "Brokers",
        "short",
        (("max by (state) (barnabas_controller_brokers{SELECTED})", "{{state}}"),),
    ),
    Panel(
        "Records written",
        "ops",
        (("sum by (topic) (rate(barnabas_topic_messages_in_total{SELECTED}[5m]))", "{{topic}}"),),
    ),
    Panel(
        "Bytes in and out",
        "Bps",
        (
            ("sum(rate(barnabas_topic_bytes_in_total{SELECTED}[5m]))", "in"),
            ("sum(rate(barnabas_topic_bytes_out_total{SELECTED}[5m]))", "out"),
            ("sum(rate(barnabas_fetch_bytes_across_racks_total{SELECTED}[5m]))", "across racks"),
        ),
    ),
    Panel(
        "Requests",
        "reqps",
        (("sum by (api) (rate(barnabas_requests_total{SELECTED}[5m]))", "{{api}}"),),
    ),
    Panel(
        "Time of requests, 99 %",
        "s",
        ((f"histogram_quantile(0.99, {_TIMES})", "{{api}}"),),
    ),
    Panel(
        "Errors in answers",
        "ops",
        (
            (
                "sum by (api, error) (rate(barnabas_request_errors_total{SELECTED}[5m]))",
                "{{api}} {{error}}",
            ),
        ),
    ),
    Panel(
        "Replicas fall out of sync, and come back",
        "ops",
        (
            ("sum(rate(barnabas_isr_shrinks_total{SELECTED}[5m]))", "out"),
            ("sum(rate(barnabas_isr_expands_total{SELECTED}[5m]))", "back"),
        ),
    ),
    Panel(
        "Controllers behind the leader",
        "short",
        (("max by (replica) (barnabas_quorum_replica_lag_records{SELECTED})", "{{replica}}"),),
    ),
    Panel(
        "Leaders by broker",
        "short",
        (("barnabas_leader_partitions{SELECTED}", "{{node_id}}"),),
    ),
    Panel(
        "Size of logs",
        "bytes",
        (("sum by (node_id) (barnabas_log_size_bytes{SELECTED})", "{{node_id}}"),),
    ),
    Panel(
        "Connections",
        "short",
        (("sum by (node_id) (barnabas_connections{SELECTED})", "{{node_id}}"),),
    ),
    Panel(
        "Processor",
        "percentunit",
        (("rate(process_cpu_seconds_total{SELECTED}[5m])", "{{pod}}"),),
    ),
    Panel(
        "Memory",
        "bytes",
        (("process_resident_memory_bytes{SELECTED}", "{{pod}}"),),
    ),
    Panel(
        "Event loop late by",
        "s",
        (("barnabas_event_loop_lag_max_seconds{SELECTED}", "{{pod}}"),),
    ),
)


def dashboard() -> dict[str, Any]:
    return {
        "uid": "barnabas",
        "title": "Barnabas",
        "tags": ["kafka", "barnabas"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source(), _variable("namespace"), _cluster_variable()]},
        "panels": [_panel(index, panel) for index, panel in enumerate(PANELS)],
    }


def _panel(index: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(index, _COLUMNS)
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "expr": expression.replace("SELECTED", _SELECTED),
                "legendFormat": legend,
            }
            for number, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}


def _variable(name: str) -> dict[str, Any]:
    return _query_variable(name, f"label_values(barnabas_controller_active, {name})")


def _cluster_variable() -> dict[str, Any]:
    where = 'barnabas_controller_active{namespace="$namespace"}'
    return _query_variable("cluster", f"label_values({where}, barnabas_dev_cluster)")


def _query_variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": query,
        "refresh": 2,
        "sort": 1,
    }
