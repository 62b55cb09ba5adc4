"""The `add_…` methods of a cluster: each defines a construct in the cluster, in the right order."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from aws_cdk import Size
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import valid_subnet
from training_cluster.cluster.addons import require_efs_driver
from training_cluster.identity.job_identity import JobIdentity
from training_cluster.lifecycle import ClusterDefaults
from training_cluster.monitoring.cluster_metrics import Lustre as MonitoredLustre
from training_cluster.monitoring.cluster_monitoring import ClusterMonitoring
from training_cluster.network.training_network import training_subnet
from training_cluster.nodes.gpu_node_group import GpuNodeGroup
from training_cluster.nodes.node_repair import NodeRepair
from training_cluster.platform.ebs_driver import EbsDriver
from training_cluster.platform.job_queue import MAX_JOBS, QUEUE_NAME, JobQueue
from training_cluster.platform.metrics_server import MetricsServer
from training_cluster.platform.namespaces import Namespaces
from training_cluster.platform.pre_pulled_images import PrePulledImages
from training_cluster.platform.training_platform import TrainingPlatform
from training_cluster.storage.data_repository import DataRepository
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ElasticVolume
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_volume import LustreVolume
from training_workloads.catalog.lustre import LUSTRE_SMALLEST_GIB
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.validation import Problem, Problems, check

__all__ = ["ClusterMethods"]


class ClusterMethods(ClusterDefaults):
    """What `TrainingCluster` and an imported cluster have in common: methods that add the parts of a training cluster.

    Each part is created after what it needs and deleted before it, in any order of the calls.

    Attributes:
        gpu_node_groups: The groups that `add_gpu_node_group` defined, by id.
        file_systems: What `add_lustre` defined, in the order of the calls.
        namespaces: What `add_namespaces` defined; None before.
        platform: What `add_platform` defined; None before.
        monitoring: What `add_monitoring` defined; None before.
        job_queue: What `add_job_queue` defined; None before.
    """

    gpu_node_groups: Mapping[str, GpuNodeGroup] = MappingProxyType({})
    file_systems: tuple[LustreFileSystem, ...] = ()
    namespaces: Namespaces | None = None
    platform: TrainingPlatform | None = None
    monitoring: ClusterMonitoring | None = None
    job_queue: JobQueue | None = None

    @property
    def as_cluster(self) -> eks.ICluster:
        """The cluster in the type of CDK's interface, of which jsii's class lacks one member."""
        return cast(eks.ICluster, self)

    @property
    def file_system(self) -> LustreFileSystem | None:
        """The first file system of `add_lustre`; None before."""
        return next(iter(self.file_systems), None)

    def add_gpu_node_group(
        self,
        id: str,
        *,
        instance_type: ec2.InstanceType | str,
        subnet: ec2.ISubnet | None = None,
        min_size: int = 0,
        desired_size: int | None = None,
        max_size: int | None = None,
        capacity_type: eks.CapacityType | str = "ON_DEMAND",
        capacity_reservation_id: str | None = None,
        placement_group: bool | None = None,
        efa: bool | None = None,
        ami_release: str | None = None,
        root_volume_mib_per_second: int | None = None,
        root_volume_iops: int | None = None,
        fast_image_pull: bool = False,
        ssm: bool = False,
        node_repair: NodeRepair | None = None,
        efa_security_group: ec2.ISecurityGroup | None = None,
    ) -> GpuNodeGroup:
        """Add a `GpuNodeGroup`; with EFA, the platform gets the EFA device plugin.

        Args:
            id: Id of the group among the cluster's node groups.
            instance_type: EC2 type with GPUs.
            subnet: A private subnet. Default: that of the training zone.
            min_size: Minimum number of nodes. Default: 0.
            desired_size: Nodes at deployment. Default: `min_size`.
            max_size: Maximum number of nodes. Default: the larger of `desired_size` and 1.
            capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK. Default: ON_DEMAND.
            capacity_reservation_id: The reservation or Capacity Block that the nodes run in. Default: none.
            placement_group: Whether the nodes get a new cluster placement group. Default: where it helps.
            efa: Whether the nodes get all EFA interfaces of their type. Default: yes where the type has them.
            ami_release: Release of the AL2023 NVIDIA AMI of EKS. Default: the newest at deployment.
            root_volume_mib_per_second: Throughput of the root volume in MiB/s. Default: 600 where it holds images.
            root_volume_iops: I/O operations per second of the root volume. Default: what its throughput needs.
            fast_image_pull: Whether the AMI pulls and unpacks images in parallel. Default: no.
            ssm: Whether Session Manager opens shells on the nodes. Default: no.
            node_repair: Limits of the repair of unhealthy nodes. Default: one node at a time.
            efa_security_group: The group of the EFA interfaces. Default: the cluster's.

        Raises:
            InputError: The values contradict each other or the catalog.
        """
        group = GpuNodeGroup(
            self._part("NodeGroups"),
            id,
            cluster=self.as_cluster,
            instance_type=instance_type,
            subnet=subnet,
            min_size=min_size,
            desired_size=desired_size,
            max_size=max_size,
            capacity_type=capacity_type,
            capacity_reservation_id=capacity_reservation_id,
            placement_group=placement_group,
            efa=efa,
            ami_release=ami_release,
            root_volume_mib_per_second=root_volume_mib_per_second,
            root_volume_iops=root_volume_iops,
            fast_image_pull=fast_image_pull,
            ssm=ssm,
            node_repair=node_repair,
            efa_security_group=efa_security_group,
        )
        self.gpu_node_groups = {**self.gpu_node_groups, id: group}
        if self.job_queue:
            self.job_queue.add_node_group(group)
        return group

    def add_lustre(
        self,
        id: str,
        *,
        bucket: s3.IBucket | None = None,
        subnet: ec2.ISubnet | None = None,
        deployment_type: fsx.LustreDeploymentType | str = fsx.LustreDeploymentType.PERSISTENT_2,
        capacity: Size | float = LUSTRE_SMALLEST_GIB,
        throughput_mbps_per_tib: float | None = None,
        efa: bool = False,
        data_repositories: Sequence[DataRepository] | None = None,
        mirror: str | None = None,
        claim: str = LUSTRE_CLAIM,
    ) -> LustreFileSystem:
        """Add a `LustreFileSystem` and its `LustreVolume`, which jobs mount at /fsx.

        Args:
            id: Id in the cluster.
            bucket: The bucket behind its data repositories. Default: none.
            subnet: Its subnet. Default: that of the training zone, which the GPU nodes have too.
            deployment_type: PERSISTENT_2 or SCRATCH_2. Default: PERSISTENT_2.
            capacity: Storage, as a size or in GiB. Default: 1200 GiB.
            throughput_mbps_per_tib: Throughput class of PERSISTENT_2 in MB/s per TiB. Default: the smallest.
            efa: Whether clients can reach it with EFA. Default: TCP only.
            data_repositories: Folders that mirror prefixes of the bucket. Default: one, root to root, where there is a
                bucket.
            mirror: ECR registry with a copy of the ownership Job's image. Default: the public one.
            claim: Name of the volume's claim. Default: the one that jobs mount.

        Raises:
            InputError: FSx does not offer the combination, or the VPC has no private subnet.
        """
        file_system = LustreFileSystem(
            self._scope,
            id,
            vpc=self.as_cluster.vpc,
            subnet=subnet or self._training_subnet(),
            bucket=bucket,
            deployment_type=deployment_type,
            capacity=capacity,
            throughput_mbps_per_tib=throughput_mbps_per_tib,
            efa=efa,
            data_repositories=data_repositories,
            encryption_key=self.encryption_key,
        )
        LustreVolume(
            self._scope,
            f"{id}Volume",
            cluster=self.as_cluster,
            file_system=file_system,
            claim=claim,
            mirror=mirror,
        )
        self.file_systems = (*self.file_systems, file_system)
        if self.monitoring:
            self.monitoring.add_lustre(file_system)
        return file_system

    def add_efs(self, id: str) -> ElasticFileSystem:
        """Add an `ElasticFileSystem` and its `ElasticVolume`, and to a `TrainingCluster` the EFS CSI driver.

        An imported cluster must have the add-on aws-efs-csi-driver.

        Args:
            id: Id in the cluster.
        """
        # Mount targets in every zone: notebooks run on the system nodes too.
        file_system = ElasticFileSystem(self._scope, id, vpc=self.as_cluster.vpc, encryption_key=self.encryption_key)
        ElasticVolume(self._scope, f"{id}Volume", cluster=self.as_cluster, file_system=file_system)
        return file_system

    def require_efs_driver(self) -> None:
        """Add the EFS CSI driver to a `TrainingCluster`, once; an imported cluster must have it."""
        if self.node_addons:
            require_efs_driver(self.node_addons, cluster=self.as_cluster)

    def add_namespaces(self, names: Iterable[str]) -> Namespaces:
        """Add namespaces, which the job identities and volumes in them wait for; a second call adds to the first.

        Args:
            names: Their names; `default` always exists and is ignored.

        Raises:
            InputError: Kubernetes does not allow a name, or another construct defines the namespace.
        """
        if self.namespaces:
            self.namespaces.add(names)
        else:
            self.namespaces = Namespaces(self._scope, "Namespaces", cluster=self.as_cluster, names=names)
            self.order_of_namespaces().add(self.namespaces)
        if self.job_queue:
            self.job_queue.add_namespaces(self.namespaces.names)
        return self.namespaces

    def add_job_identity(
        self,
        id: str,
        *,
        bucket: s3.IBucket,
        prefix: str,
        service_account: str | None = None,
        namespace: str = "default",
        allow_delete: bool = False,
        encryption_key: kms.IKey | None = None,
    ) -> JobIdentity:
        """Add a `JobIdentity`: what the pods of a service account may do in a bucket.

        Args:
            id: Id of the identity among the cluster's service accounts.
            bucket: The bucket of datasets and results.
            prefix: Folder of the bucket, such as `runs/resnet50`; `/` for the whole bucket.
            service_account: Name of the service account, as in the job's pods. Default: the id.
            namespace: Namespace of the job; one that `add_namespaces` did not define must exist.
            allow_delete: Whether the job may delete objects too.
            encryption_key: Key of the bucket. Default: the bucket's own, if the bucket knows it.

        Raises:
            InputError: `prefix` is not a folder, or Kubernetes does not allow a name.
        """
        return JobIdentity(
            self._part("ServiceAccounts"),
            id,
            cluster=self.as_cluster,
            bucket=bucket,
            prefix=prefix,
            service_account=id if service_account is None else service_account,
            namespace=namespace,
            allow_delete=allow_delete,
            encryption_key=encryption_key,
        )

    def add_platform(
        self, id: str, *, gang_scheduler: str | None = None, mirror: str | None = None
    ) -> TrainingPlatform:
        """Add a `TrainingPlatform`: device plugins for the cluster's GPU node groups, autoscaler and MPI operator.

        Args:
            id: Id in the cluster.
            gang_scheduler: Scheduler that starts all workers of a job together or not at all. Default: none.
            mirror: ECR registry with copies of charts and images. Default: the upstream registries.

        Raises:
            InputError: The cluster has one of the parts already, or an argument has no valid value.
        """
        check(_once("platform", self.platform))
        self.platform = TrainingPlatform(
            self._scope, id, cluster=self.as_cluster, gang_scheduler=gang_scheduler, mirror=mirror
        )
        return self.platform

    def add_pre_pulled_images(self, id: str, *, images: Sequence[str]) -> PrePulledImages:
        """Add `PrePulledImages`: GPU nodes pull them when they join.

        Args:
            id: Id in the cluster.
            images: Addresses of images.

        Raises:
            InputError: An address is not one, or the cluster has pre-pulled images already.
        """
        return PrePulledImages(self._scope, id, cluster=self.as_cluster, images=images)

    def add_job_queue(
        self,
        id: str,
        *,
        queue_name: str = QUEUE_NAME,
        topology: bool = False,
        max_jobs: int = MAX_JOBS,
        mirror: str | None = None,
    ) -> JobQueue:
        """Add a `JobQueue` over all of the cluster's GPU node groups and namespaces, those of later calls too.

        Args:
            id: Id in the cluster.
            queue_name: Its name, which jobs give as their queue. Default: gpu.
            topology: Whether Kueue chooses nodes close to each other; needs groups of a fixed size. Default: no.
            max_jobs: Jobs that run at once. Default: what fits on the system nodes.
            mirror: ECR registry with copies of chart and image. Default: the upstream registry.

        Raises:
            InputError: The cluster has a queue already, or an argument has no valid value.
        """
        check(_once("job_queue", self.job_queue))
        self.job_queue = JobQueue(
            self._scope,
            id,
            cluster=self.as_cluster,
            node_groups=self.gpu_node_groups.values(),
            namespaces=self.namespaces.names if self.namespaces else (),
            queue_name=queue_name,
            topology=topology,
            max_jobs=max_jobs,
            mirror=mirror,
        )
        return self.job_queue

    def add_ebs_driver(self, id: str) -> EbsDriver:
        """Add an `EbsDriver`: volumes on EBS, by a default StorageClass.

        Args:
            id: Id in the cluster.

        Raises:
            InputError: The cluster has a driver from another construct.
        """
        return EbsDriver(self._scope, id, cluster=self.as_cluster, encryption_key=self.encryption_key)

    def add_metrics_server(self, id: str) -> MetricsServer:
        """Add a `MetricsServer`: `kubectl top`, and autoscaling of pods.

        Args:
            id: Id in the cluster.

        Raises:
            InputError: The cluster has one from another construct.
        """
        return MetricsServer(self._scope, id, cluster=self.as_cluster)

    def add_monitoring(
        self,
        id: str,
        *,
        alarm_email: str | None = None,
        file_system: MonitoredLustre | None = None,
        gpu_details: bool = False,
        mirror: str | None = None,
    ) -> ClusterMonitoring:
        """Add a `ClusterMonitoring`: metrics, logs, dashboard and alarms.

        Args:
            id: Id in the cluster.
            alarm_email: Address that gets the alarms. Default: no mails.
            file_system: A Lustre of the jobs that `add_lustre` did not define. Each one that it defined, before this
                call or after it, is monitored too. Default: none.
            gpu_details: Whether to send what the add-on does not: throttling, NVLink, energy. Default: no.
            mirror: ECR registry with copies of the chart and the image of `gpu_details`. Default: NVIDIA's registry.

        Raises:
            InputError: `alarm_email` is not one email address, or the cluster has a monitoring already.
        """
        check(_once("monitoring", self.monitoring))
        self.monitoring = ClusterMonitoring(
            self._scope,
            id,
            cluster=self.as_cluster,
            file_system=file_system or self.file_system,
            alarm_email=alarm_email,
            encryption_key=self.encryption_key,
            gpu_details=gpu_details,
            mirror=mirror,
        )
        for each in self.file_systems:
            if each is not self.monitoring.file_system:
                self.monitoring.add_lustre(each)
        return self.monitoring

    @property
    def _scope(self) -> Construct:
        return cast(Construct, self)

    def _training_subnet(self) -> ec2.ISubnet:
        subnet = training_subnet(self.as_cluster.vpc)
        check(valid_subnet(subnet))
        assert subnet
        return subnet

    def _part(self, id: str) -> Construct:
        """Return the construct for parts of one kind; the first call defines it."""
        return cast(Construct, self._scope.node.try_find_child(id) or Construct(self._scope, id))


def _once(what: str, first: Construct | None) -> Problems:
    if first is not None:
        allowed, fix = f"{first.node.path} is that of the cluster", "remove one of the two calls"
        yield Problem(path=(f"add_{what}",), given=f"a second {what}", allowed=allowed, fix=fix)
