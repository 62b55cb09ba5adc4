"""The CloudWatch metrics that the dashboard and the alarms are made of; each exists in AWS's lists.

`ContainerInsights`, from the add-on's agent, with the dimensions of its source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-metrics-enhanced-EKS.html,
https://github.com/aws/amazon-cloudwatch-agent/blob/main/translator/translate/otel/exporter/awsemf/kubernetes.go.
`AWS/FSx`, from FSx: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fs-metrics.html.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_volume import ExistingLustreFileSystem, capacity_text

__all__ = [
    "Lustre",
    "cluster_metric",
    "lustre_free_percent",
    "lustre_throughput",
    "per_namespace",
    "per_node",
    "per_node_total",
    "sum_of_nodes",
]

#: What can be watched: its id and its capacity are known, the one here and the other from its owner.
Lustre = LustreFileSystem | ExistingLustreFileSystem

_CONTAINER_INSIGHTS = "ContainerInsights"
_PERIOD = Duration.minutes(5)
# The agent and FSx send a sample a minute; in a longer period, Sum would add up minutes, not devices only.
_MINUTE = Duration.minutes(1)
_GIB = 1024**3
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/graph-dynamic-labels.html
_NODE = "${PROP('Dim.NodeName')}"


def cluster_metric(cluster_name: str, name: str, statistic: str) -> cloudwatch.Metric:
    """One number for the whole cluster, every 5 minutes.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Of a Container Insights metric with the dimension `ClusterName` alone.
        statistic: Over nodes (or GPUs) and minutes.
    """
    return cloudwatch.Metric(
        namespace=_CONTAINER_INSIGHTS,
        metric_name=name,
        dimensions_map={"ClusterName": cluster_name},
        statistic=statistic,
        period=_PERIOD,
    )


def per_node(cluster_name: str, name: str) -> cloudwatch.MathExpression:
    """One line for each node, found by a search, so that new nodes appear by themselves.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Of a Container Insights metric with the dimensions `ClusterName`, `InstanceId` and `NodeName`.
    """
    return _expression(_node_search(cluster_name, name, "Average", _PERIOD), _NODE)


def per_node_total(cluster_name: str, name: str, label: str) -> cloudwatch.MathExpression:
    """One line for each node: the sum over its devices, of which each sends a sample of its own.

    Args:
        cluster_name: EKS's name of the cluster.
        name: As for `per_node`.
        label: What stands before the node's name.
    """
    return _expression(_node_search(cluster_name, name, "Sum", _MINUTE), f"{label} {_NODE}", _MINUTE)


def sum_of_nodes(cluster_name: str, name: str, label: str) -> cloudwatch.MathExpression:
    """One line: the sum over the nodes.

    The statistic Sum of the whole cluster's metric would also add up the minutes of a period.

    Args:
        cluster_name: EKS's name of the cluster.
        name: As for `per_node`.
        label: Name of the line.
    """
    return _expression(f"SUM({_node_search(cluster_name, name, 'Average', _PERIOD)})", label)


def per_namespace(cluster_name: str, name: str) -> cloudwatch.MathExpression:
    """One line for each namespace.

    Args:
        cluster_name: EKS's name of the cluster.
        name: Of a Container Insights metric with the dimensions `ClusterName` and `Namespace`.
    """
    search = _search("ClusterName,Namespace", cluster_name, name, "Average", _PERIOD)
    return _expression(search, "${PROP('Dim.Namespace')}")


def lustre_throughput(file_system: Lustre) -> list[cloudwatch.IMetric]:
    """Bytes per second that clients read and write."""
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
    """Free storage in percent of the capacity that was asked for.

    The capacity stands in the expression, not in a threshold, because it can be a value known at deployment only.
    """
    return cloudwatch.MathExpression(
        expression=f"100 * free / ({capacity_text(file_system)} * {_GIB})",
        using_metrics={"free": _fsx(file_system, "FreeDataStorageCapacity")},
        label="free",
        period=_MINUTE,
    )


def _fsx(file_system: Lustre, name: str) -> cloudwatch.Metric:
    """Sum is over the storage targets (OST) of the file system."""
    return cloudwatch.Metric(
        namespace="AWS/FSx",
        metric_name=name,
        dimensions_map={"FileSystemId": file_system.file_system_id},
        statistic="Sum",
        period=_MINUTE,
    )


def _node_search(cluster_name: str, name: str, statistic: str, period: Duration) -> str:
    return _search("ClusterName,InstanceId,NodeName", cluster_name, name, statistic, period)


def _search(dimensions: str, cluster_name: str, name: str, statistic: str, period: Duration) -> str:
    schema = f"{{{_CONTAINER_INSIGHTS},{dimensions}}}"
    terms = f'MetricName="{name}" ClusterName="{cluster_name}"'
    return f"SEARCH('{schema} {terms}', '{statistic}', {period.to_seconds():.0f})"


def _expression(expression: str, label: str, period: Duration = _PERIOD) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics={}, label=label, period=period)
