import json
from typing import Any

import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from training_cluster.monitoring.cluster_metrics import ClusterMetrics
from training_cluster.monitoring.dashboard import ClusterDashboard
from training_cluster.storage.lustre_file_system import LustreFileSystem

METRICS = ClusterMetrics("training")
PER_NODE = "{ContainerInsights,ClusterName,InstanceId,NodeName}"


def dashboard(site: Site, **options: Any) -> dict[str, dict[str, Any]]:
    """Widgets' properties by title, as CloudWatch would read them."""
    lustre = LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        bucket=s3.Bucket(site.stack, "Bucket"),
    )
    xids = cloudwatch.Metric(namespace="Gpus", metric_name="Xids", statistic="Sum", label="Xid lines")
    ClusterDashboard(site.stack, "Dashboard", metrics=METRICS, file_system=lustre, gpu_errors=xids, **options)
    (made,) = properties(site.template(), "AWS::CloudWatch::Dashboard")
    parts = made["DashboardBody"]["Fn::Join"][1]
    body = "".join(part if isinstance(part, str) else "known-at-deployment" for part in parts)
    return {widget["properties"]["title"]: widget["properties"] for widget in json.loads(body)["widgets"]}


def lines(widget: dict[str, Any]) -> dict[str, str]:
    """Expressions by label."""
    options = [metric[-1] for metric in widget["metrics"]]
    return {option["label"]: option["expression"] for option in options if "expression" in option}


def search(name: str, statistic: str = "Average", seconds: int = 300, schema: str = PER_NODE) -> str:
    return f"""SEARCH('{schema} MetricName="{name}" ClusterName="training"', '{statistic}', {seconds})"""


def test_what_it_shows(site: Site) -> None:
    assert list(dashboard(site)) == [
        "GPU utilisation per node (%)",
        "GPU memory used per node (%)",
        "EFA traffic per node (bytes/s)",
        "EFA packets dropped per node",
        "Lustre throughput of all clients (bytes/s)",
        "Lustre free space (%)",
        "Nodes, GPUs, and GPUs held by jobs",
        "Running jobs, as running pods per namespace",
        "Node ready (1) or not (0)",
        "Xid lines of the NVIDIA driver",
    ]


def test_lines_per_node_are_found_by_search(site: Site) -> None:
    widgets = dashboard(site)
    node = "${PROP('Dim.NodeName')}"
    assert lines(widgets["GPU utilisation per node (%)"]) == {node: search("node_gpu_utilization")}
    assert lines(widgets["GPU memory used per node (%)"]) == {node: search("node_gpu_memory_utilization")}
    assert lines(widgets["Node ready (1) or not (0)"]) == {node: search("node_status_condition_ready")}
    assert lines(widgets["EFA traffic per node (bytes/s)"]) == {
        f"received {node}": search("node_efa_rx_bytes", "Sum", 60),
        f"sent {node}": search("node_efa_tx_bytes", "Sum", 60),
    }
    assert lines(widgets["EFA packets dropped per node"]) == {
        f"dropped {node}": search("node_efa_rx_dropped", "Sum", 60)
    }


def test_lustre_metrics_name_the_file_system(site: Site) -> None:
    widgets = dashboard(site)
    throughput = widgets["Lustre throughput of all clients (bytes/s)"]
    assert lines(throughput) == {"read": "read / PERIOD(read)", "written": "written / PERIOD(written)"}
    metrics = [metric for metric in throughput["metrics"] if metric[0] == "AWS/FSx"]
    assert [metric[1:4] for metric in metrics] == [
        ["DataReadBytes", "FileSystemId", "known-at-deployment"],
        ["DataWriteBytes", "FileSystemId", "known-at-deployment"],
    ]
    assert {(metric[-1]["stat"], metric[-1]["period"]) for metric in metrics} == {("Sum", 60)}
    assert lines(widgets["Lustre free space (%)"]) == {"free": "100 * free / (1200 * 1073741824)"}


def test_nodes_gpus_and_jobs(site: Site) -> None:
    widgets = dashboard(site)
    nodes = widgets["Nodes, GPUs, and GPUs held by jobs"]
    assert nodes["metrics"][0][:4] == ["ContainerInsights", "cluster_node_count", "ClusterName", "training"]
    assert lines(nodes) == {
        "GPUs": f"SUM({search('node_gpu_limit')})",
        "GPUs held by pods": f"SUM({search('node_gpu_usage_total')})",
    }
    per_namespace = "{ContainerInsights,ClusterName,Namespace}"
    assert lines(widgets["Running jobs, as running pods per namespace"]) == {
        "${PROP('Dim.Namespace')}": search("namespace_number_of_running_pods", schema=per_namespace)
    }
    assert widgets["Xid lines of the NVIDIA driver"]["metrics"][0][:2] == ["Gpus", "Xids"]


def test_percentages_have_a_whole_axis(site: Site) -> None:
    widgets = dashboard(site)
    for title, widget in widgets.items():
        axis = widget["yAxis"]["left"]
        assert axis["min"] == 0
        assert axis.get("max") == (100 if "%" in title else None)


@pytest.mark.parametrize("count", [1, 2])
def test_the_state_of_alarms_is_at_the_top(site: Site, count: int) -> None:
    alarms = [
        cloudwatch.Alarm(
            site.stack,
            f"Alarm{number}",
            metric=cloudwatch.Metric(namespace="N", metric_name="M"),
            threshold=1,
            evaluation_periods=1,
        )
        for number in range(count)
    ]
    widgets = dashboard(site, alarms=alarms)
    assert next(iter(widgets)) == "Alarms"
    assert len(widgets["Alarms"]["alarms"]) == count
