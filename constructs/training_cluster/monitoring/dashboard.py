"""One page of graphs: is the hardware used, does the data arrive, is anything broken."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from training_cluster.monitoring.cluster_metrics import ClusterMetrics, lustre_free_percent, lustre_throughput
from training_cluster.storage.lustre_volume import Lustre
from training_workloads.catalog.gpu_metrics import GPU_DETAILS

__all__ = ["ClusterDashboard"]

# Name of the first file system; a further one has its id.
_LUSTRE = "Lustre"

_WIDTH = 24  # columns of a CloudWatch dashboard
_HALF = _WIDTH // 2
_PERCENT = cloudwatch.YAxisProps(min=0, max=100, show_units=False, label="%")


class ClusterDashboard(cloudwatch.Dashboard):
    """GPUs, EFA, Lustre, nodes and pods of one cluster, with a name that CloudFormation generates."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        metrics: ClusterMetrics,
        file_system: Lustre | None,
        gpu_errors: cloudwatch.IMetric,
        alarms: Sequence[cloudwatch.IAlarm] = (),
        gpu_details: bool = False,
    ) -> None:
        """Define the dashboard.

        Args:
            metrics: Those of a cluster with Container Insights.
            file_system: The first file system of the jobs; None for no graphs of one.
            gpu_errors: The number of Xid lines.
            alarms: Alarms whose state is at the top. Default: none.
            gpu_details: Whether there are metrics of `GpuDetails`. Default: no.
        """
        super().__init__(scope, id)
        # Rows to which `add_lustre` adds later.
        self._alarms, self._lustre, self._has_lustre = cloudwatch.Column(), cloudwatch.Column(), False
        self.add_widgets(cast(cloudwatch.IWidget, self._alarms))
        self.add_widgets(*_gpus(metrics))
        if gpu_details:
            self.add_widgets(*_gpu_details(metrics))
        self.add_widgets(*_efa(metrics))
        self.add_widgets(cast(cloudwatch.IWidget, self._lustre))
        self.add_widgets(*_nodes_and_jobs(metrics))
        self.add_widgets(*_faults(metrics, gpu_errors))
        if alarms:
            self._alarms.add_widget(_status("Alarms", alarms))
        if file_system:
            self._add_graphs(file_system)

    def add_lustre(self, file_system: Lustre, alarm: cloudwatch.IAlarm) -> None:
        """Add the graphs of a further file system, and the state of its alarm."""
        name = file_system.node.id if self._has_lustre else _LUSTRE
        self._alarms.add_widget(_status(f"Alarm of {name}", [alarm]))
        self._add_graphs(file_system, name)

    def _add_graphs(self, file_system: Lustre, name: str = _LUSTRE) -> None:
        self._lustre.add_widget(_lustre(file_system, name))
        self._has_lustre = True


def _status(title: str, alarms: Sequence[cloudwatch.IAlarm]) -> cloudwatch.IWidget:
    return cloudwatch.AlarmStatusWidget(alarms=list(alarms), title=title, width=_WIDTH, height=2)


def _graph(title: str, *lines: cloudwatch.IMetric, axis: cloudwatch.YAxisProps | None = None) -> cloudwatch.GraphWidget:
    axis = axis or cloudwatch.YAxisProps(min=0, show_units=False)
    return cloudwatch.GraphWidget(title=title, left=list(lines), left_y_axis=axis, width=_HALF)


def _gpus(metrics: ClusterMetrics) -> list[cloudwatch.IWidget]:
    return [
        _graph("GPU utilisation per node (%)", metrics.per_node("node_gpu_utilization"), axis=_PERCENT),
        _graph("GPU memory used per node (%)", metrics.per_node("node_gpu_memory_utilization"), axis=_PERCENT),
    ]


def _gpu_details(metrics: ClusterMetrics) -> list[cloudwatch.IWidget]:
    return [
        _graph("Time of a node's GPUs below their clocks (ns/min)", *_lines_of("throttled", metrics)),
        _graph("NVLink errors per node", *_lines_of("nvlink errors", metrics)),
    ]


def _lines_of(group: str, metrics: ClusterMetrics) -> list[cloudwatch.IMetric]:
    fields = [counter.field for counter in GPU_DETAILS if counter.group == group]
    return [metrics.own_per_node(field, field.removeprefix("DCGM_FI_DEV_")) for field in fields]


def _efa(metrics: ClusterMetrics) -> list[cloudwatch.IWidget]:
    received = metrics.total_per_node("node_efa_rx_bytes", "received")
    sent = metrics.total_per_node("node_efa_tx_bytes", "sent")
    return [
        _graph("EFA traffic per node (bytes/s)", received, sent),
        _graph("EFA packets dropped per node", metrics.total_per_node("node_efa_rx_dropped", "dropped")),
    ]


def _lustre(file_system: Lustre, name: str) -> cloudwatch.IWidget:
    throughput = _graph(f"{name} throughput of all clients (bytes/s)", *lustre_throughput(file_system))
    free = _graph(f"{name} free space (%)", lustre_free_percent(file_system), axis=_PERCENT)
    return cast(cloudwatch.IWidget, cloudwatch.Row(throughput, free))


def _nodes_and_jobs(metrics: ClusterMetrics) -> list[cloudwatch.IWidget]:
    nodes = metrics.of_cluster("cluster_node_count", "Maximum").with_(label="nodes, system nodes included")
    return [
        _graph(
            "Nodes, GPUs, and GPUs held by jobs",
            nodes,
            metrics.sum_of_nodes("node_gpu_limit", "GPUs"),
            metrics.sum_of_nodes("node_gpu_usage_total", "GPUs held by pods"),
        ),
        # Container Insights does not know MPIJobs; a running one is a launcher and its workers.
        _graph(
            "Running jobs, as running pods per namespace",
            metrics.per_namespace("namespace_number_of_running_pods"),
        ),
    ]


def _faults(metrics: ClusterMetrics, gpu_errors: cloudwatch.IMetric) -> list[cloudwatch.IWidget]:
    return [
        _graph("Node ready (1) or not (0)", metrics.per_node("node_status_condition_ready")),
        _graph("Xid lines of the NVIDIA driver", gpu_errors),
    ]
