"""Metrics, logs, a dashboard and alarms of a training cluster, all in CloudWatch."""

from typing import Any, TypedDict, cast

import jsii
from aws_cdk import Aws, Duration, IStableAnyProducer, Lazy, RemovalPolicy, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.checks import AnyCluster, Key, Mirror, valid_cluster
from training_cluster.identity.pod_identity import PodRole
from training_cluster.lifecycle import after_node_addons
from training_cluster.log_group import log_group
from training_cluster.monitoring.alarms import ClusterAlarms, Email
from training_cluster.monitoring.cluster_metrics import ClusterMetrics
from training_cluster.monitoring.dashboard import ClusterDashboard
from training_cluster.monitoring.gpu_details import LOG_GROUP, GpuDetails, agent_section, scrape_config
from training_cluster.platform.cluster_addon import cluster_addon
from training_cluster.single_owner import own
from training_cluster.stack_order import order_stacks
from training_cluster.storage.lustre_volume import Lustre
from training_cluster.suppressions import suppress_policy
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.gpu_metrics import COLLECTED_BY_DEFAULT
from training_workloads.keywords import checked, keywords_of
from training_workloads.spec import Spec
from training_workloads.validation import Problem, Problems, check

__all__ = ["ClusterMonitoring", "MonitoringOptions"]

_ADDON = "amazon-cloudwatch-observability"
_NAMESPACE = "amazon-cloudwatch"
_SERVICE_ACCOUNT = "cloudwatch-agent"
_POLICY = "CloudWatchAgentServerPolicy"
_RETENTION = logs.RetentionDays.ONE_MONTH
# CloudFormation deletes it where the first deployment fails, before a job has written.
_KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE

# The agent and Fluent Bit create missing log groups, and those keep their logs for ever.
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-setup-logs-FluentBit.html
_LOG_GROUPS = ("application", "dataplane", "host", "performance")

# The output of jobs outlives a cluster whose name no other gets; the others are about nodes that are deleted with it.
_JOBS_OUTPUT = "application"

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"

# This configuration replaces the add-on's, so what it omits is off: Application Signals, with which newer releases of
# the add-on instrument every service by default.
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html
# https://github.com/aws-observability/helm-charts/pull/240
_COLLECTED = {"kubernetes": {"enhanced_container_insights": True, "accelerated_compute_metrics": True}}


@jsii.implements(IStableAnyProducer)
class _DcgmExporter:
    """The add-on's values for its exporter of GPU metrics, once all node groups are defined.

    The add-on has a list of types. If the cluster has another, such as p5.4xlarge, the list is that of the catalog:
    without GPU metrics the alarm of idle GPUs never fires. Components have had an affinity since the add-on's v3.7.0:
    https://github.com/aws-observability/helm-charts/pull/175
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def produce(self) -> Any:
        types: frozenset[str] = getattr(self._cluster, "gpu_types", frozenset())
        if types <= COLLECTED_BY_DEFAULT:
            return None
        on_gpu_nodes = [
            {"key": _INSTANCE_TYPE, "operator": "In", "values": sorted(INSTANCE_TYPES)},
            {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate"]},
        ]
        terms = {"nodeSelectorTerms": [{"matchExpressions": on_gpu_nodes}]}
        return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


class MonitoringOptions(Spec):
    """The keywords of `add_monitoring`.

    Attributes:
        file_system: The Lustre of the jobs: one of this library, imported or not, or one of the CDK; `add_lustre` adds
            further ones. Default: none, and so no graphs and no alarm of it.
        alarm_email: Address that gets the alarms. Default: no mails, alarms only show on the dashboard.
        gpu_details: Whether to send more metrics than the add-on does: why GPUs ran below their clocks, NVLink, energy.
            The cluster needs kubectl.
        mirror: ECR registry with copies of the chart and the image of `gpu_details`. Default: NVIDIA's registry.
    """

    file_system: Lustre | None = None
    alarm_email: Email | None = None
    gpu_details: bool = False
    mirror: Mirror | None = None


class MonitoringProps(MonitoringOptions):
    """The keywords of `ClusterMonitoring`.

    Attributes:
        cluster: The cluster, with the add-on eks-pod-identity-agent.
        encryption_key: Key of the logs and of the alarms' topic. Default: logs have a key of CloudWatch; the topic,
            where there is one, has a key defined here.
    """

    cluster: AnyCluster
    encryption_key: Key | None = None


@MonitoringProps.rule
def details_need_kubectl(props: MonitoringProps) -> Problems:
    """Reject a cluster without kubectl where the exporter of `gpu_details` is installed."""
    yield from valid_cluster("cluster", props.cluster, kubectl=props.gpu_details)


class _Common(TypedDict):
    """Values that alarms and dashboard share."""

    metrics: ClusterMetrics
    file_system: Lustre | None
    gpu_errors: cloudwatch.IMetric


class ClusterMonitoring(Construct):
    """Container Insights with GPU and EFA metrics, a dashboard and alarms.

    The add-on becomes healthy only on a node: with a cluster of this library it waits for the cluster's own add-ons.

    Attributes:
        addon: The EKS add-on with the CloudWatch agent, Fluent Bit and NVIDIA's DCGM exporter.
        pod_role: The role of agent and Fluent Bit, with AWS's policy for them.
        log_groups: Log groups by their last name: application, dataplane, host, performance. Lines are kept for a
            month; the first, with the output of the jobs, outlives a cluster with a generated name.
        gpu_details: The exporter of further metrics of GPUs; None without.
        dashboard: The dashboard.
        alarms: The alarms and their topic.
        file_systems: The Lustre file systems on the dashboard, each with its alarm.
    """

    @keywords_of(MonitoringProps)
    def __init__(self, scope: Construct, id: str, props: MonitoringProps) -> None:
        """Define add-on, dashboard and alarms.

        Raises:
            InputError: `alarm_email` is not one email address, the cluster has a monitoring from another construct, or
                an argument is of another type.
        """
        cluster, file_system, encryption_key = props.cluster, props.file_system, props.encryption_key
        order_stacks(scope, id, cluster=cluster, file_system=file_system, encryption_key=encryption_key)
        super().__init__(scope, id)
        # Log groups and add-on have fixed names.
        own(self, cluster, "monitoring")
        self._metrics = ClusterMetrics(cluster.cluster_name)
        self.file_systems: list[Lustre] = [file_system] if file_system else []
        self.gpu_details = self._details(props)
        self.log_groups = self._add_log_groups(encryption_key, outlives=not _has_fixed_name(cluster))
        self.pod_role = self._add_pod_role(cluster)
        self.addon = self._add_addon(cast(eks.ICluster, cluster))
        self._gpu_errors = self._count_gpu_errors()
        common: _Common = {"metrics": self._metrics, "file_system": file_system, "gpu_errors": self.metric_gpu_errors()}
        self.alarms = ClusterAlarms(self, "Alarms", **common, email=props.alarm_email, encryption_key=encryption_key)
        self.dashboard = ClusterDashboard(
            self, "Dashboard", **common, alarms=self.alarms.all, gpu_details=props.gpu_details
        )
        after_node_addons(self, cluster)

    @property
    def file_system(self) -> Lustre | None:
        """The first Lustre on the dashboard; None without one."""
        return next(iter(self.file_systems), None)

    @checked
    def add_lustre(self, file_system: Lustre) -> None:
        """Add the graphs and the alarm of a further Lustre file system.

        Args:
            file_system: A Lustre of the jobs: one of this library, imported or not, or one of the CDK.

        Raises:
            InputError: The monitoring has this file system, it is of another kind, or its stack waits for this one.
        """
        check(self._has_no_such(file_system))
        order_stacks(self, "", file_system=file_system)
        self.file_systems.append(file_system)
        self.dashboard.add_lustre(file_system, self.alarms.add_lustre(file_system))

    def _has_no_such(self, file_system: Lustre) -> Problems:
        if any(file_system is each for each in self.file_systems):
            fix = "add each file system once"
            yield Problem(path=("file_system",), given=file_system, allowed="the monitoring has it", fix=fix)

    def metric(self, name: str, *, statistic: str = "Average", **options: Any) -> cloudwatch.Metric:
        """Return a metric of the whole cluster from Container Insights, every 5 minutes by default.

        Args:
            name: Name of a metric with the dimension `ClusterName` alone, such as `cluster_node_count`.
            statistic: Over nodes (or GPUs) and minutes. Default: Average.
            options: Other options of the CDK's metric.
        """
        return self._metrics.of_cluster(name, statistic, **options)

    def metric_gpu_utilization(self, **options: Any) -> cloudwatch.Metric:
        """Return the utilisation of the GPUs in percent. Default: the average of all."""
        return self.metric("node_gpu_utilization", **options)

    def metric_gpu_errors(self, **options: Any) -> cloudwatch.Metric:
        """Return the number of Xid lines of the NVIDIA driver. Default: in 5 minutes."""
        defaults = {"statistic": "Sum", "period": Duration.minutes(5), "label": "Xid lines"}
        return self._gpu_errors.metric(**{**defaults, **options})

    def _details(self, props: MonitoringProps) -> GpuDetails | None:
        if not props.gpu_details:
            return None
        return GpuDetails(self, "GpuDetails", cluster=props.cluster, mirror=props.mirror)

    def _add_pod_role(self, cluster: eks.ICluster | eks.Cluster) -> PodRole:
        """Define the role of the agent and of Fluent Bit, which have one service account."""
        role = PodRole(self, "PodRole", cluster=cluster, namespace=_NAMESPACE, service_account=_SERVICE_ACCOUNT)
        role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_POLICY))
        suppress_policy(role, "maintained by AWS for this agent, whose new releases may call more", _POLICY)
        return role

    def _add_log_groups(self, key: kms.IKey | None, *, outlives: bool) -> dict[str, logs.LogGroup]:
        scope = Construct(self, "Logs")
        if key:
            key.grant_encrypt_decrypt(_log_service())
        return {
            name: log_group(
                scope,
                name,
                key=key,
                name=f"/aws/containerinsights/{self._metrics.cluster_name}/{name}",
                retention=_RETENTION,
                removal_policy=_KEPT if outlives and name == _JOBS_OUTPUT else RemovalPolicy.DESTROY,
            )
            for name in (*_LOG_GROUPS, *([LOG_GROUP] if self.gpu_details else []))
        }

    def _add_addon(self, cluster: eks.ICluster) -> eks.Addon:
        # Its pods would create the log groups again if they stayed.
        values = {"agent": self._agent(), "dcgmExporter": Lazy.any(_DcgmExporter(cluster))}
        addon = cluster_addon(self, "Resource", cluster=cluster, name=_ADDON, values=values)
        # Pods get their role when they start, and log groups must exist before their first writer.
        addon.node.add_dependency(self.pod_role, *self.log_groups.values())
        return addon

    def _agent(self) -> dict[str, Any]:
        """Return the add-on's values for the agent."""
        collected: dict[str, Any] = {**_COLLECTED}
        values: dict[str, Any] = {"config": {"logs": {"metrics_collected": collected}}}
        if self.gpu_details:
            collected["prometheus"] = agent_section(self._metrics)
            values["prometheus"] = {"config": scrape_config()}
        return values

    def _count_gpu_errors(self) -> logs.MetricFilter:
        """Count the driver's lines in the kernel log: neither Container Insights nor EKS has a metric of Xids."""
        return logs.MetricFilter(
            self,
            "GpuErrors",
            log_group=self.log_groups["host"],
            filter_pattern=logs.FilterPattern.all_terms("NVRM: Xid"),
            metric_namespace=self._metrics.own_namespace,
            metric_name="GpuXidErrors",
            metric_value="1",
        )


def _has_fixed_name(cluster: eks.ICluster | eks.Cluster) -> bool:
    """Return whether the next deployment finds a cluster of the same name, and so its retained log groups too."""
    resource = cluster.node.default_child if isinstance(cluster, eks.Cluster) else None
    return not isinstance(resource, eks.CfnCluster) or not Token.is_unresolved(resource.name)


def _log_service() -> iam.IPrincipal:
    """Return CloudWatch Logs, for the log groups of Container Insights in this account and region.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    """
    groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:/aws/containerinsights/*"
    conditions = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}}
    return iam.ServicePrincipal(f"logs.{Aws.REGION}.{Aws.URL_SUFFIX}", conditions=conditions)
