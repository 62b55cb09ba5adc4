"""The `add_…` methods of a cluster: each defines a construct in the cluster, in the right order."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import Bucket, Mirror, Subnet, valid_nodes_subnet
from training_cluster.cluster.addons import enforce_policies_from_the_start, require_efs_driver
from training_cluster.identity.job_identity import JobIdentity, JobIdentityOptions
from training_cluster.lifecycle import ClusterDefaults
from training_cluster.monitoring.cluster_monitoring import ClusterMonitoring, MonitoringOptions
from training_cluster.network.training_network import training_subnet
from training_cluster.nodes.gpu_node_group import GpuNodeGroup, GpuNodeGroupOptions
from training_cluster.platform.job_queue import JobQueue, JobQueueOptions
from training_cluster.platform.namespaces import Namespaces
from training_cluster.platform.optional_addons import EbsDriver, MetricsServer
from training_cluster.platform.pre_pulled_images import Images, PrePulledImages
from training_cluster.platform.training_platform import TrainingPlatform
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ElasticVolume
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_spec import LustreSpec
from training_cluster.storage.lustre_volume import LustreVolume, LustreVolumeOptions
from training_cluster.team.shared_cluster import SharedCluster
from training_cluster.team.team import Team
from training_cluster.team.team_spec import TeamSpec, valid_teams
from training_cluster.team.team_storage import TeamStorage
from training_workloads.keywords import checked, keywords_of
from training_workloads.validation import Problem, Problems, check

__all__ = ["ClusterMethods"]


class LustreOptions(LustreSpec, LustreVolumeOptions):
    """The keywords of `add_lustre`.

    Attributes:
        data_repositories: Up to 8 folders that mirror prefixes of the bucket. Default: one, root to root, where there
            is a bucket. Empty: none.
        bucket: The bucket behind its data repositories. Default: none.
        subnet: Its subnet. Default: that of the training zone, which the GPU nodes have too.
    """

    bucket: Bucket | None = None
    subnet: Subnet | None = None


class ClusterMethods(ClusterDefaults):
    """The methods of `TrainingCluster` and of an imported cluster that add the parts of a training cluster.

    Each part is created after what it needs and deleted before it, in any order of the calls.

    Attributes:
        gpu_node_groups: The groups that `add_gpu_node_group` defined, by id.
        file_systems: The file systems of `add_lustre`, in the order of the calls.
        namespaces: The namespaces of `add_namespaces`; None before.
        platform: The platform of `add_platform`; None before.
        monitoring: The monitoring of `add_monitoring`; None before.
        job_queue: The queue of `add_job_queue`; None before.
        teams: The teams of `add_team`, by name.
        administrators: Principals with all rights in the cluster, as far as this app gives them.
    """

    gpu_node_groups: Mapping[str, GpuNodeGroup] = MappingProxyType({})
    file_systems: tuple[LustreFileSystem, ...] = ()
    namespaces: Namespaces | None = None
    platform: TrainingPlatform | None = None
    monitoring: ClusterMonitoring | None = None
    job_queue: JobQueue | None = None
    teams: Mapping[str, Team] = MappingProxyType({})
    administrators: tuple[str, ...] = ()
    _shared: SharedCluster | None = None
    _storage: Mapping[str, TeamStorage] = MappingProxyType({})

    @property
    def as_cluster(self) -> eks.ICluster:
        """The cluster in the type of CDK's interface, of which jsii's class lacks one member."""
        return cast(eks.ICluster, self)

    @property
    def file_system(self) -> LustreFileSystem | None:
        """The first file system of `add_lustre`; None before."""
        return next(iter(self.file_systems), None)

    @keywords_of(GpuNodeGroupOptions)
    def add_gpu_node_group(self, id: str, options: GpuNodeGroupOptions) -> GpuNodeGroup:
        """Add a `GpuNodeGroup`; with EFA, the platform gets the EFA device plugin.

        Args:
            id: Id of the group among the cluster's node groups.

        Raises:
            InputError: The values contradict each other or the catalog.
        """
        group = GpuNodeGroup(self._part("NodeGroups"), id, cluster=self.as_cluster, **options.given())
        self.gpu_node_groups = {**self.gpu_node_groups, id: group}
        if self.job_queue:
            self.job_queue.add_node_group(group)
        return group

    @keywords_of(LustreOptions)
    def add_lustre(self, id: str, options: LustreOptions) -> LustreFileSystem:
        """Add a `LustreFileSystem` and its `LustreVolume`, which jobs mount at /fsx.

        Raises:
            InputError: FSx does not offer the combination, or the VPC has no private subnet.
        """
        file_system = LustreFileSystem(
            self._scope,
            id,
            vpc=self.as_cluster.vpc,
            subnet=options.subnet or self._training_subnet(),
            bucket=options.bucket,
            encryption_key=self.encryption_key,
            **options.given(LustreSpec),
        )
        volume = options.given(LustreVolumeOptions)
        LustreVolume(self._scope, f"{id}Volume", cluster=self.as_cluster, file_system=file_system, **volume)
        self.file_systems = (*self.file_systems, file_system)
        if self.monitoring:
            self.monitoring.add_lustre(file_system)
        return file_system

    def add_efs(self, id: str) -> ElasticFileSystem:
        """Add an `ElasticFileSystem` and its `ElasticVolume`, and to a `TrainingCluster` the EFS CSI driver.

        An imported cluster must have the add-on aws-efs-csi-driver.
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
        if self._shared:
            self._shared.add_namespaces(self.namespaces.names)
        return self.namespaces

    @keywords_of(JobIdentityOptions)
    def add_job_identity(self, id: str, options: JobIdentityOptions) -> JobIdentity:
        """Add a `JobIdentity`: the permissions of the pods of a service account in a bucket.

        Args:
            id: Id of the identity among the cluster's service accounts, and by default the name of the account.

        Raises:
            InputError: `prefix` is not a folder, or Kubernetes does not allow a name.
        """
        values = {"service_account": id} | options.given()
        return JobIdentity(self._part("ServiceAccounts"), id, cluster=self.as_cluster, **values)

    @checked
    def add_platform(
        self, id: str, *, gang_scheduler: str | None = None, mirror: Mirror | None = None
    ) -> TrainingPlatform:
        """Add a `TrainingPlatform`: device plugins for the cluster's GPU node groups, autoscaler and MPI operator.

        Args:
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

    @checked
    def add_pre_pulled_images(self, id: str, *, images: Images) -> PrePulledImages:
        """Add `PrePulledImages` by their addresses: GPU nodes pull them when they join.

        Raises:
            InputError: An address is not one, or the cluster has pre-pulled images already.
        """
        return PrePulledImages(self._scope, id, cluster=self.as_cluster, images=images)

    @keywords_of(JobQueueOptions)
    def add_job_queue(self, id: str, options: JobQueueOptions) -> JobQueue:
        """Add a `JobQueue` over all of the cluster's GPU node groups and namespaces, those of later calls too.

        Raises:
            InputError: The cluster has a queue already, or an argument has no valid value.
        """
        check(_once("job_queue", self.job_queue))
        self.job_queue = JobQueue(
            self._scope,
            id,
            cluster=self.as_cluster,
            node_groups=tuple(self.gpu_node_groups.values()),
            namespaces=tuple(self.namespaces.names if self.namespaces else ()),
            **options.given(),
        )
        return self.job_queue

    @keywords_of(TeamSpec)
    def add_team(self, id: str, options: TeamSpec) -> Team:
        """Add a `Team` with its border, and give its members their rights; the queue and its node groups come first.

        The first team makes the cluster a shared one: admission policies, and on a `TrainingCluster` network policies
        from the start of each pod.

        Args:
            id: Name of the team.

        Raises:
            InputError: The cluster has no queue, or not as many GPUs, or the team shares its user, its namespace or
                its folder with another, or a member is an administrator.
        """
        check(_has_queue(self.job_queue))
        queue = cast(JobQueue, self.job_queue)
        specs = {name: team.spec for name, team in self.teams.items()} | {id: options}
        check(valid_teams(specs, gpus=queue.gpus, admin_arns=self.administrators))
        team = Team(self._part("Teams"), id, cluster=self.as_cluster, job_queue=queue, **options.given())
        self.order_of_namespaces().add(team.border)
        self._share(queue).add_team(team)
        self.teams = {**self.teams, id: team}
        self._storage = {**self._storage, id: TeamStorage(team, "Storage", cluster=self.as_cluster, team=team)}
        for volume in self.volumes:
            self._storage[id].add(volume)
        return team

    def add_volume(self, volume: Construct) -> None:
        """Record a volume of a file system, and give each team its folder."""
        super().add_volume(volume)
        for storage in self._storage.values():
            storage.add(volume)

    def _share(self, queue: JobQueue) -> SharedCluster:
        """Return the parts that the teams have in common; the first team defines them."""
        if not self._shared:
            shared = SharedCluster(self._scope, "Shared", cluster=self.as_cluster, queue_name=queue.queue_name)
            shared.add_namespaces(self.namespaces.names if self.namespaces else ())
            if self.network_addons:
                enforce_policies_from_the_start(self.network_addons, policies=shared.open_namespaces)
            self._shared = shared
        return self._shared

    def add_ebs_driver(self, id: str) -> EbsDriver:
        """Add an `EbsDriver`: volumes on EBS, by a default StorageClass.

        Raises:
            InputError: The cluster has a driver from another construct.
        """
        return EbsDriver(self._scope, id, cluster=self.as_cluster, encryption_key=self.encryption_key)

    def add_metrics_server(self, id: str) -> MetricsServer:
        """Add a `MetricsServer`: `kubectl top`, and autoscaling of pods.

        Raises:
            InputError: The cluster has one from another construct.
        """
        return MetricsServer(self._scope, id, cluster=self.as_cluster)

    @keywords_of(MonitoringOptions)
    def add_monitoring(self, id: str, options: MonitoringOptions) -> ClusterMonitoring:
        """Add a `ClusterMonitoring`: metrics, logs, dashboard and alarms.

        Each file system that `add_lustre` defined, before this call or after it, is monitored.

        Raises:
            InputError: `alarm_email` is not one email address, or the cluster has a monitoring already.
        """
        check(_once("monitoring", self.monitoring))
        values = {"file_system": self.file_system} | options.given()
        self.monitoring = ClusterMonitoring(
            self._scope, id, cluster=self.as_cluster, encryption_key=self.encryption_key, **values
        )
        for each in self.file_systems:
            if each is not self.monitoring.file_system:
                self.monitoring.add_lustre(each)
        return self.monitoring

    @property
    def _scope(self) -> Construct:
        return cast(Construct, self)

    def _training_subnet(self) -> ec2.ISubnet:
        vpc = self.as_cluster.vpc
        subnet = training_subnet(vpc)
        check(valid_nodes_subnet(subnet, vpc))
        assert subnet
        return subnet

    def _part(self, id: str) -> Construct:
        """Return the construct for parts of one kind; the first call defines it."""
        return cast(Construct, self._scope.node.try_find_child(id) or Construct(self._scope, id))


def _has_queue(queue: JobQueue | None) -> Problems:
    if queue is None:
        allowed = "the cluster has no queue, from which a team gets its GPUs"
        yield Problem(path=("add_team",), given="a team", allowed=allowed, fix="call add_job_queue before it")


def _once(what: str, first: Construct | None) -> Problems:
    if first is not None:
        allowed, fix = f"{first.node.path} is that of the cluster", "remove one of the two calls"
        yield Problem(path=(f"add_{what}",), given=f"a second {what}", allowed=allowed, fix=fix)
