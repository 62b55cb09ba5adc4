"""The CloudWatch metrics of the dashboard and the alarms; each is in AWS's lists.

`ContainerInsights`, from the add-on's agent, with the dimensions of its source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-metrics-enhanced-EKS.html,
https://github.com/aws/amazon-cloudwatch-agent/blob/main/translator/translate/otel/exporter/awsemf/kubernetes.go.
`AWS/FSx`: see `lustre_metric`.
"""

from typing import Any, cast

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_fsx as fsx

from training_cluster.storage.lustre_file_system import lustre_metric
from training_cluster.storage.lustre_volume import Lustre, capacity_text
from training_workloads.manifests.values import GI

__all__ = [
    "cluster_metric",
    "lustre_free_percent",
    "lustre_throughput",
    "own_namespace",
    "own_per_node",
    "per_namespace",
    "per_node",
    "per_node_total",
    "sum_of_nodes",
]

_CONTAINER_INSIGHTS = "ContainerInsights"
_PERIOD = Duration.minutes(5)
# The agent and FSx send a sample a minute; in a longer period, Sum would add up minutes, not devices only.
_MINUTE = Duration.minutes(1)
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/graph-dynamic-labels.html
_NODE = "${PROP('Dim.NodeName')}"


def cluster_metric(cluster_name: str, name: str, statistic: str, **options: Any) -> cloudwatch.Metric:
    """Return one number for the whole cluster, every 5 minutes by default.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Name of a Container Insights metric with the dimension `ClusterName` alone.
        statistic: Over nodes (or GPUs) and minutes.
        options: Other options of the CDK's metric.
    """
    return cloudwatch.Metric(
        namespace=_CONTAINER_INSIGHTS,
        metric_name=name,
        dimensions_map={"ClusterName": cluster_name},
        statistic=statistic,
        **{"period": _PERIOD, **options},
    )


def per_node(cluster_name: str, name: str) -> cloudwatch.MathExpression:
    """Return one line for each node, found by a search, so that new nodes appear by themselves.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Name of a Container Insights metric with the dimensions `ClusterName`, `InstanceId` and `NodeName`.
    """
    return _expression(_node_search(cluster_name, name, "Average", _PERIOD), _NODE)


def per_node_total(cluster_name: str, name: str, label: str) -> cloudwatch.MathExpression:
    """Return one line for each node: the sum over its devices, each of which sends a sample.

    Args:
        cluster_name: EKS's name of the cluster.
        name: As for `per_node`.
        label: Text before the node's name.
    """
    return _expression(_node_search(cluster_name, name, "Sum", _MINUTE), f"{label} {_NODE}", _MINUTE)


def own_namespace(cluster_name: str) -> str:
    """Return the namespace of the metrics that no add-on sends.

    With the cluster's name: otherwise two clusters of an account would share one counter.

    Args:
        cluster_name: EKS's name of the cluster.
    """
    return f"TrainingCluster/{cluster_name}"


def own_per_node(cluster_name: str, name: str, label: str) -> cloudwatch.MathExpression:
    """Return one line for each node: the sum over its GPUs and a minute.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Name of a metric of ours with the dimension `NodeName` alone.
        label: Text before the node's name.
    """
    schema = f'{{"{own_namespace(cluster_name)}",NodeName}}'
    search = f"SEARCH('{schema} MetricName=\"{name}\"', 'Sum', {_MINUTE.to_seconds():.0f})"
    return _expression(search, f"{label} {_NODE}", _MINUTE)


def sum_of_nodes(cluster_name: str, name: str, label: str) -> cloudwatch.MathExpression:
    """Return one line: the sum over the nodes.

    The statistic Sum of the whole cluster's metric would also add up the minutes of a period.

    Args:
        cluster_name: EKS's name of the cluster.
        name: As for `per_node`.
        label: Name of the line.
    """
    return _expression(f"SUM({_node_search(cluster_name, name, 'Average', _PERIOD)})", label)


def per_namespace(cluster_name: str, name: str) -> cloudwatch.MathExpression:
    """Return one line for each namespace.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Name of a Container Insights metric with the dimensions `ClusterName` and `Namespace`.
    """
    search = _search("ClusterName,Namespace", cluster_name, name, "Average", _PERIOD)
    return _expression(search, "${PROP('Dim.Namespace')}")


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


def _node_search(cluster_name: str, name: str, statistic: str, period: Duration) -> str:
    return _search("ClusterName,InstanceId,NodeName", cluster_name, name, statistic, period)


def _search(dimensions: str, cluster_name: str, name: str, statistic: str, period: Duration) -> str:
    schema = f"{{{_CONTAINER_INSIGHTS},{dimensions}}}"
    terms = f'MetricName="{name}" ClusterName="{cluster_name}"'
    return f"SEARCH('{schema} {terms}', '{statistic}', {period.to_seconds():.0f})"


def _expression(expression: str, label: str, period: Duration = _PERIOD) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics={}, label=label, period=period)
