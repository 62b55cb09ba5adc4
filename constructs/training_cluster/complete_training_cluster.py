"""The complete training cluster: network, EKS, GPU nodes, file systems, platform and monitoring in one construct."""

from collections import Counter
from collections.abc import Iterable

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import valid_bucket, valid_key
from training_cluster.cluster.training_cluster import TrainingCluster
from training_cluster.config import ClusterConfig
from training_cluster.monitoring.cost import CostEstimate, hourly_cost
from training_cluster.network.training_network import TrainingNetwork
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.system_nodes import SYSTEM_NODES
from training_cluster.storage.lustre_spec import LustreSpec
from training_workloads.catalog.lustre import lustre_throughput_mbps
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE
from training_workloads.planning.storage_sizing import IMAGENET_BYTES_PER_IMAGE
from training_workloads.validation import check, instance_of

__all__ = ["CompleteTrainingCluster"]


class CompleteTrainingCluster(Construct):
    """Everything that a configuration describes, in any stack, stage or region.

    Attributes:
        config: The configuration.
        network: The VPC.
        cluster: The EKS cluster.
        node_groups: GPU node groups by name.
        file_system: The Lustre file system.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ClusterConfig,
        bucket: s3.IBucket,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Define the parts.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            config: Everything that can be chosen. Its `monthly_budget_usd` has no effect here: `TrainingDataStack`, or
                a `TrainingBudget` of your own, defines the budget, because it outlives a cluster.
            bucket: The bucket of datasets, checkpoints and results.
            encryption_key: Key of secrets, volumes, file systems and logs. Default: the services' own keys.

        Raises:
            InputError: `config` is not a `ClusterConfig`, or another argument is of another type.
        """
        check(instance_of("config", config, ClusterConfig), valid_bucket(bucket), valid_key(encryption_key))
        super().__init__(scope, id)
        self.config, self._key = config, encryption_key
        self.network = TrainingNetwork(
            self,
            "Network",
            cidr=config.vpc_cidr,
            availability_zones=config.availability_zones,
            training_zone=config.training_zone,
            nat=config.nat,
            ssm=any(group.ssm for group in config.node_groups.values()),
            encryption_key=encryption_key,
        )
        self.cluster = self._add_cluster()
        self.node_groups = {
            name: self.cluster.add_gpu_node_group(name, **group.props()) for name, group in config.node_groups.items()
        }
        self.file_system = self.cluster.add_lustre(
            "Lustre", bucket=bucket, mirror=config.mirror, **config.lustre.props()
        )
        if config.efs:
            self.cluster.add_efs("Efs")
        self.cluster.add_namespaces(account.namespace for account in config.service_accounts.values())
        for name, account in config.service_accounts.items():
            self.cluster.add_job_identity(name, bucket=bucket, encryption_key=encryption_key, **account.props())
        self.cluster.add_platform("Platform", gang_scheduler=config.gang_scheduler, mirror=config.mirror)
        if config.pre_pull_images:
            self.cluster.add_pre_pulled_images("PrePulledImages", images=config.pre_pull_images)
        self._add_options()
        self.cluster.add_monitoring("Monitoring", alarm_email=config.alarm_email)
        self._add_outputs()

    def _add_options(self) -> None:
        if self.config.job_queue:
            self.cluster.add_job_queue("JobQueue", mirror=self.config.mirror)
        if self.config.ebs:
            self.cluster.add_ebs_driver("EbsDriver")
        if self.config.metrics_server:
            self.cluster.add_metrics_server("MetricsServer")

    def _add_cluster(self) -> TrainingCluster:
        if not self.config.admin_arns:
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:no-admin",
                "'admin_arns' is empty, so no user can use kubectl; add the ARN of your IAM role or user",
            )
        return TrainingCluster(
            self,
            "Cluster",
            vpc=self.network,
            kubernetes_version=self.config.kubernetes_version,
            public_access_cidrs=self.config.public_access_cidrs,
            allow_any_address=self.config.allow_any_address,
            admin_arns=self.config.admin_arns,
            encryption_key=self._key,
            efs=self.config.efs,
        )

    def _add_outputs(self) -> None:
        region, name = Stack.of(self).region, self.cluster.cluster_name
        kubeconfig = f"aws eks update-kubeconfig --region {region} --name {name}"
        CfnOutput(self, "KubeconfigCommand", value=kubeconfig)
        CfnOutput(self, "FileSystemId", value=self.file_system.file_system_id)
        CfnOutput(self, "LustreThroughput", value=_throughput_sentence(self.file_system.spec))
        CfnOutput(self, "EstimatedCostPerHour", value=self._cost_sentence())

    def _cost_sentence(self) -> str:
        """Return both limits of the autoscaler, at On-Demand prices."""
        specs = [group.spec for group in self.node_groups.values()]
        deployed = self._cost((spec, spec.desired) for spec in specs)
        largest = self._cost((spec, spec.maximum) for spec in specs)
        return f"{deployed.total} as deployed; with every node group at its max_size, On-Demand, {largest}"

    def _cost(self, sizes: Iterable[tuple[GpuNodeGroupSpec, int]]) -> CostEstimate:
        nodes = Counter({SYSTEM_INSTANCE_TYPE: SYSTEM_NODES})
        for spec, size in sizes:
            nodes[spec.instance_type] += size
        return hourly_cost(nodes=nodes, nat_gateways=int(self.config.nat))


def _throughput_sentence(lustre: LustreSpec) -> str:
    mbps = lustre_throughput_mbps(lustre.capacity_gib, lustre.mbps_per_tib)
    images = mbps * 1e6 / IMAGENET_BYTES_PER_IMAGE
    return (
        f"{lustre.capacity_gib} GiB at {lustre.mbps_per_tib} MB/s per TiB sustain {mbps:,.0f} MB/s: {images:,.0f} "
        f"images/s of {IMAGENET_BYTES_PER_IMAGE / 1e3:.0f} kB (trainctl platform size-lustre sizes another job)"
    )
