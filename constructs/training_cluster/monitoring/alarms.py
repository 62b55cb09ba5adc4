"""Alarms of a training cluster: idle GPUs that cost money, and faults that will stop a job."""

from typing import Annotated, cast

from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from training_cluster.checks import KnownChecked
from training_cluster.monitoring.cluster_metrics import ClusterMetrics, lustre_free_percent
from training_cluster.storage.lustre_volume import Lustre
from training_workloads.validation import matches

__all__ = ["ClusterAlarms", "Email"]

# Ids: the alarm of the first file system, and the scope of those of further ones.
_LUSTRE = "LustreNearlyFull"
_FURTHER = "FurtherLustreNearlyFull"

_IDLE_PERCENT = 5
_IDLE_PERIODS = 6  # of 5 minutes
_FREE_PERCENT = 10
_FREE_PERIODS = 5  # of 1 minute
_NOT_READY_PERIODS = 2  # of 5 minutes

# One address, without a name before it and without quotes; AWS asks it for a confirmation. Characters:
# https://www.rfc-editor.org/rfc/rfc5322#section-3.2.3; lengths: https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1
_WORD = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOMAIN = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = rf"(?=.{{1,254}}$)(?=[^@]{{1,64}}@){_WORD}(\.{_WORD})*@({_DOMAIN}\.)+(?![0-9]+$){_DOMAIN}"

#: One email address.
Email = Annotated[str, KnownChecked(matches, _EMAIL, "one email address, such as team@example.com", typed=True)]


class ClusterAlarms(Construct):
    """Three alarms and one for each file system, and, where there is an address, the topic that mails to it.

    Attributes:
        gpus_idle: The highest GPU utilisation was below 5 % for 30 minutes while there were GPU nodes.
        all_lustre_nearly_full: Less than 10 % of a file system was free for 5 minutes: one alarm for each file system,
            in the order in which they were added.
        node_not_ready: A node that still reports was not ready for 10 minutes.
        gpu_errors: The NVIDIA driver logged an Xid on some node.
        topic: Where the alarms are published; None without an address.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        metrics: ClusterMetrics,
        file_system: Lustre | None,
        gpu_errors: cloudwatch.IMetric,
        email: str | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Define the alarms.

        Args:
            metrics: Those of a cluster with Container Insights.
            file_system: The first file system that can run full; None for none.
            gpu_errors: The number of Xid lines.
            email: Address that gets mails; AWS asks it once for consent. Default: no mails, alarms only show.
            encryption_key: Key of the topic. Default: a key defined here, where there is an address.
        """
        super().__init__(scope, id)
        self.gpus_idle = _gpus_idle(self, metrics)
        self.all_lustre_nearly_full = [_lustre_nearly_full(self, _LUSTRE, file_system)] if file_system else []
        self.node_not_ready = _node_not_ready(self, metrics)
        self.gpu_errors = _gpu_errors(self, gpu_errors)
        self.topic = None if email is None else _topic(self, email, encryption_key)
        for alarm in self.all:
            self._mail(alarm)

    @property
    def all(self) -> list[cloudwatch.Alarm]:
        """Every alarm."""
        return [self.gpus_idle, *self.all_lustre_nearly_full, self.node_not_ready, self.gpu_errors]

    @property
    def lustre_nearly_full(self) -> cloudwatch.Alarm | None:
        """The alarm of the first file system; None without one."""
        return next(iter(self.all_lustre_nearly_full), None)

    def add_lustre(self, file_system: Lustre) -> cloudwatch.Alarm:
        """Define the alarm of a further file system that can run full, and return it."""
        number = len(self.all_lustre_nearly_full) + 1
        scope, id = (self._further(), str(number)) if self.all_lustre_nearly_full else (self, _LUSTRE)
        alarm = _lustre_nearly_full(scope, id, file_system)
        self.all_lustre_nearly_full.append(alarm)
        self._mail(alarm)
        return alarm

    def _further(self) -> Construct:
        return cast(Construct, self.node.try_find_child(_FURTHER) or Construct(self, _FURTHER))

    def _mail(self, alarm: cloudwatch.Alarm) -> None:
        if self.topic:
            alarm.add_alarm_action(actions.SnsAction(self.topic))


def _gpus_idle(scope: Construct, metrics: ClusterMetrics) -> cloudwatch.Alarm:
    """Return the alarm of idle GPUs; without GPU nodes neither metric has data, and the expression does not alarm."""
    idle = cloudwatch.MathExpression(
        expression=f"IF(gpus > 0 AND busiest < {_IDLE_PERCENT}, 1, 0)",
        using_metrics={
            "gpus": metrics.of_cluster("node_gpu_limit", "Maximum"),
            "busiest": metrics.of_cluster("node_gpu_utilization", "Maximum"),
        },
        label="GPUs idle",
        period=Duration.minutes(5),
    )
    return cloudwatch.Alarm(
        scope,
        "GpusIdle",
        metric=idle,
        threshold=1,
        evaluation_periods=_IDLE_PERIODS,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description="GPU nodes run and are paid for, but no GPU works; scale the node groups to 0 or start a job",
    )


def _lustre_nearly_full(scope: Construct, id: str, file_system: Lustre) -> cloudwatch.Alarm:
    return cloudwatch.Alarm(
        scope,
        id,
        metric=lustre_free_percent(file_system),
        threshold=_FREE_PERCENT,
        evaluation_periods=_FREE_PERIODS,
        comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        # A gap in the data frees no storage.
        treat_missing_data=cloudwatch.TreatMissingData.IGNORE,
        alarm_description="Checkpoints will fail when Lustre is full; release exported files or enlarge it",
    )


def _node_not_ready(scope: Construct, metrics: ClusterMetrics) -> cloudwatch.Alarm:
    """Return the alarm of nodes; the agent does not count nodes that are not ready in `cluster_failed_node_count`.

    https://github.com/open-telemetry/opentelemetry-collector-contrib/blob/main/internal/aws/k8s/k8sclient/node.go
    """
    return cloudwatch.Alarm(
        scope,
        "NodeNotReady",
        metric=metrics.of_cluster("node_status_condition_ready", "Minimum"),
        threshold=1,
        evaluation_periods=_NOT_READY_PERIODS,
        comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description="A node is not ready; with node repair on, EKS replaces it after 30 minutes",
    )


def _gpu_errors(scope: Construct, xids: cloudwatch.IMetric) -> cloudwatch.Alarm:
    return cloudwatch.Alarm(
        scope,
        "GpuErrors",
        metric=xids,
        threshold=1,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=(
            "The NVIDIA driver logged an Xid: a GPU failed, or a program misused it; its number is in the host's log, "
            "its meaning at https://docs.nvidia.com/deploy/xid-errors/"
        ),
    )


def _topic(scope: Construct, email: str, key: kms.IKey | None) -> sns.Topic:
    cloudwatch_service = iam.ServicePrincipal("cloudwatch.amazonaws.com")
    # AWS's own key for SNS cannot be used by CloudWatch:
    # https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger
    # A key defined here encrypts messages in transit only, so nothing is lost with it.
    key = key or kms.Key(scope, "Key", enable_key_rotation=True, removal_policy=RemovalPolicy.DESTROY)
    key.grant(cloudwatch_service, "kms:Decrypt", "kms:GenerateDataKey*")
    topic = sns.Topic(scope, "Topic", master_key=key, enforce_ssl=True)
    # A resource policy replaces SNS's default, which let the account's alarms publish.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AlarmsOfThisAccount",
            principals=[cloudwatch_service],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )
    )
    topic.add_subscription(subscriptions.EmailSubscription(email))
    return topic
