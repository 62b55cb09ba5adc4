"""The CloudWatch metrics of the dashboard and the alarms; each is in AWS's lists.

`ContainerInsights`, from the add-on's agent, with the dimensions of its source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-metrics-enhanced-EKS.html,
https://github.com/aws/amazon-cloudwatch-agent/blob/main/translator/translate/otel/exporter/awsemf/kubernetes.go.
`AWS/FSx`: see `lustre_metric`.
"""

from dataclasses import dataclass
from typing import Any, cast

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_fsx as fsx

from training_cluster.storage.lustre_file_system import lustre_metric
from training_cluster.storage.lustre_volume import Lustre, capacity_text
from training_workloads.manifests.values import GI

__all__ = ["ClusterMetrics", "lustre_free_percent", "lustre_throughput"]

_CONTAINER_INSIGHTS = "ContainerInsights"
_PERIOD = Duration.minutes(5)
# The agent and FSx send a sample a minute; in a longer period, Sum would add up minutes, not devices only.
_MINUTE = Duration.minutes(1)
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/graph-dynamic-labels.html
_NODE = "${PROP('Dim.NodeName')}"


@dataclass(frozen=True, slots=True)
class ClusterMetrics:
    """The metrics of one cluster, by the names of Container Insights.

    Attributes:
        cluster_name: EKS's name of the cluster.
    """

    cluster_name: str

    @property
    def own_namespace(self) -> str:
        """The namespace of metrics that no add-on sends: without the name two clusters would share one counter."""
        return f"TrainingCluster/{self.cluster_name}"

    def of_cluster(self, name: str, statistic: str, **options: Any) -> cloudwatch.Metric:
        """Return one number for the whole cluster, every 5 minutes by default, of a metric with `ClusterName` alone.

        The statistic is over nodes (or GPUs) and minutes.
        """
        return cloudwatch.Metric(
            namespace=_CONTAINER_INSIGHTS,
            metric_name=name,
            dimensions_map={"ClusterName": self.cluster_name},
            statistic=statistic,
            **{"period": _PERIOD, **options},
        )

    def per_node(self, name: str) -> cloudwatch.MathExpression:
        """Return one line for each node, found by a search, so that new nodes appear by themselves."""
        return _expression(self._node_search(name, "Average", _PERIOD), _NODE)

    def total_per_node(self, name: str, label: str) -> cloudwatch.MathExpression:
        """Return one line for each node: the sum over its devices, each of which sends a sample."""
        return _expression(self._node_search(name, "Sum", _MINUTE), f"{label} {_NODE}", _MINUTE)

    def own_per_node(self, name: str, label: str) -> cloudwatch.MathExpression:
        """Return one line for each node: the sum of a metric of `own_namespace` over its GPUs and a minute."""
        schema = f'{{"{self.own_namespace}",NodeName}}'
        search = f"SEARCH('{schema} MetricName=\"{name}\"', 'Sum', {_MINUTE.to_seconds():.0f})"
        return _expression(search, f"{label} {_NODE}", _MINUTE)

    def sum_of_nodes(self, name: str, label: str) -> cloudwatch.MathExpression:
        """Return one line: the sum over the nodes.

        The statistic Sum of the whole cluster's metric would also add up the minutes of a period.
        """
        return _expression(f"SUM({self._node_search(name, 'Average', _PERIOD)})", label)

    def per_namespace(self, name: str) -> cloudwatch.MathExpression:
        """Return one line for each namespace."""
        search = self._search("ClusterName,Namespace", name, "Average", _PERIOD)
        return _expression(search, "${PROP('Dim.Namespace')}")

    def _node_search(self, name: str, statistic: str, period: Duration) -> str:
        return self._search("ClusterName,InstanceId,NodeName", name, statistic, period)

    def _search(self, dimensions: str, name: str, statistic: str, period: Duration) -> str:
        schema = f"{{{_CONTAINER_INSIGHTS},{dimensions}}}"
        terms = f'MetricName="{name}" ClusterName="{self.cluster_name}"'
        return f"SEARCH('{schema} {terms}', '{statistic}', {period.to_seconds():.0f})"


def lustre_throughput(file_system: Lustre) -> list[cloudwatch.IMetric]:
    """Return the bytes per second that clients read and write."""
    return [
        cloudwatch.MathExpression(
            expression=f"{name} / PERIOD({name})",
            using_metrics={name: _fsx(file_system, metric)},
            label=label,
            period=_MINUTE,
        )
        for name, metric, label in (("read", "DataReadBytes", "read"), ("written", "DataWriteBytes", "written"))
    ]


def lustre_free_percent(file_system: Lustre) -> cloudwatch.MathExpression:
    """Return the free storage in percent of the requested capacity.

    The capacity is in the expression, not in a threshold, because it can be a token.
    """
    return cloudwatch.MathExpression(
        expression=f"100 * free / ({capacity_text(file_system)} * {GI})",
        using_metrics={"free": _fsx(file_system, "FreeDataStorageCapacity")},
        label="free",
        period=_MINUTE,
    )


def _fsx(file_system: Lustre, name: str) -> cloudwatch.Metric:
    return lustre_metric(cast(fsx.IFileSystem, file_system), name)


def _expression(expression: str, label: str, period: Duration = _PERIOD) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics={}, label=label, period=period)
