"""The sections of the configuration file; the rules of each are those of the construct that it describes."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from training_cluster.identity.folder_access import valid_prefix
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.node_repair import NodeRepair, NodeRepairOverride
from training_cluster.platform.job_queue import MAX_JOBS, QUEUE_NAME, valid_queue
from training_cluster.storage.data_repository import DataRepository
from training_cluster.storage.lustre_spec import LustreSpec
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.lustre import LUSTRE_SMALLEST_GIB, LUSTRE_THROUGHPUTS
from training_workloads.names import DNS_LABEL, DNS_LABEL_RULE
from training_workloads.spec import Spec, switch
from training_workloads.validation import Problems, enforce, matches

__all__ = [
    "DataRepositoryConfig",
    "GpuNodeGroupConfig",
    "JobQueueConfig",
    "JobQueueSection",
    "LustreConfig",
    "NodeRepairConfig",
    "NodeRepairOverrideConfig",
    "ServiceAccountConfig",
]

_INSTANCE_TYPE = next(each.name for each in INSTANCE_TYPES.values() if each.capacity_block)


# Of a file system: keys that say where it is, and not what.
_ZONES = ("availability_zone", "further_zones")


class NodeRepairOverrideConfig(Spec):
    """Another action for one reason of an unhealthy node.

    Attributes:
        condition: What is unhealthy, such as AcceleratedHardwareReady.
        reason: The agent's reason, such as NvidiaXID31Error.
        action: Replace, Reboot or NoAction.
        min_wait_minutes: Minutes for which the reason must hold. Default: 10.
    """

    condition: str = Field(examples=["AcceleratedHardwareReady"])
    reason: str = Field(examples=["NvidiaXID31Error"])
    action: str = Field(examples=["NoAction"])
    min_wait_minutes: int | None = Field(default=None, examples=[10])

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.spec
        return self

    @property
    def spec(self) -> NodeRepairOverride:
        """The value that `NodeRepair` takes."""
        return NodeRepairOverride(**self.model_dump(exclude_none=True))


class NodeRepairConfig(Spec):
    """The limits of EKS's node auto repair.

    Attributes:
        enabled: Whether EKS repairs nodes.
        max_parallel_nodes_repaired_count: Nodes that are repaired at the same time. Default: 1, unless the percentage
            is given.
        max_parallel_nodes_repaired_percentage: The same as a percentage of the unhealthy nodes.
        max_unhealthy_node_threshold_count: Unhealthy nodes above which EKS repairs none. Default: EKS's.
        max_unhealthy_node_threshold_percentage: The same as a percentage of the group.
        overrides: Other actions than EKS's, in place of the default, which is none for the faults of programs.
    """

    enabled: bool = True
    max_parallel_nodes_repaired_count: int | None = Field(default=None, examples=[2])
    max_parallel_nodes_repaired_percentage: int | None = Field(default=None, examples=[10])
    max_unhealthy_node_threshold_count: int | None = Field(default=None, examples=[3])
    max_unhealthy_node_threshold_percentage: int | None = Field(default=None, examples=[20])
    overrides: tuple[NodeRepairOverrideConfig, ...] | None = Field(
        default=None, examples=["[{condition: AcceleratedHardwareReady, reason: NvidiaXID64Error, action: Replace}]"]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.spec
        return self

    @property
    def spec(self) -> NodeRepair:
        """The value that `add_gpu_node_group` takes."""
        values = self.model_dump(exclude={"overrides"})
        if self.overrides is None:
            return NodeRepair(**values)
        return NodeRepair(**values, overrides=tuple(each.spec for each in self.overrides))


class GpuNodeGroupConfig(Spec):
    """A GPU node group.

    Attributes:
        instance_type: An EC2 instance type with GPUs.
        min_size: The fewest nodes. Default: 0.
        desired_size: Nodes at deployment. Default: `min_size`.
        max_size: The most nodes. Default: the larger of `desired_size` and 1.
        capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK (Capacity Block for ML).
        capacity_reservation_id: The On-Demand Capacity Reservation or Capacity Block (`cr-…`) of the nodes. Default:
            none.
        placement_group: Whether the nodes have a cluster placement group. Default: yes where the type supports it, no
            with a reservation or with Spot capacity.
        efa: Whether the nodes have all EFA interfaces of their type. Default: yes where the type has them.
        ami_release: Release of the AL2023 NVIDIA AMI of EKS, such as 1.35.0-20260917. Default: the newest at
            deployment.
        root_volume_mib_per_second: Throughput of the root volume in MiB/s. Default: 600 where it holds the container
            images, else 125.
        root_volume_iops: I/O operations per second of the root volume. Default: what its throughput needs.
        fast_image_pull: Whether the AMI pulls and unpacks images in parallel, which AWS calls experimental.
        ssm: Whether Session Manager opens shells on the nodes.
        node_repair: Limits of the repair of unhealthy nodes. Default: one node at a time, and none for the faults of a
            program.
        availability_zone: The training zone, or one of `lustre.further_zones`. Default: the training zone.
    """

    instance_type: str = Field(examples=[_INSTANCE_TYPE])
    min_size: int = 0
    desired_size: int | None = Field(default=None, examples=[1])
    max_size: int | None = Field(default=None, examples=[2])
    capacity_type: str = "ON_DEMAND"
    capacity_reservation_id: str | None = Field(default=None, examples=["cr-0123456789abcdef0"])
    placement_group: bool | None = None
    efa: bool | None = None
    ami_release: str | None = Field(default=None, examples=["1.35.0-20260917"])
    root_volume_mib_per_second: int | None = Field(default=None, examples=[1000])
    root_volume_iops: int | None = Field(default=None, examples=[16000])
    fast_image_pull: bool = False
    ssm: bool = False
    node_repair: NodeRepairConfig | None = Field(default=None, examples=["max_parallel_nodes_repaired_count: 2"])
    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.spec
        return self

    @property
    def spec(self) -> GpuNodeGroupSpec:
        """The same values with their defaults."""
        return GpuNodeGroupSpec(**self._values())

    def props(self) -> dict[str, Any]:
        """Return the keywords of `cluster.add_gpu_node_group`."""
        return self._values() | ({"node_repair": self.node_repair.spec} if self.node_repair else {})

    def _values(self) -> dict[str, Any]:
        return self.model_dump(exclude={"availability_zone", "node_repair"}, exclude_none=True)


class DataRepositoryConfig(Spec):
    """A folder of the file system that mirrors a prefix of the bucket.

    Attributes:
        path: Folder in the file system, with a leading `/`. Default: its root.
        prefix: Start of the objects' keys. Default: every object of the bucket.
        export_deletions: Whether `rm` on Lustre deletes the object in the bucket. It has an effect only with the second
            key, `i_know_that_rm_deletes_objects`. Default: no.
        i_know_that_rm_deletes_objects: The second key to `export_deletions`.
    """

    path: str = "/"
    prefix: str = Field(default="", examples=["data/"])
    export_deletions: bool = False
    i_know_that_rm_deletes_objects: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.spec
        return self

    @property
    def spec(self) -> DataRepository:
        """The value that `add_lustre` takes."""
        return DataRepository(**self.model_dump())


class LustreConfig(Spec):
    """The Lustre file system.

    Attributes:
        deployment_type: `PERSISTENT_2`, which is replicated in its zone, or `SCRATCH_2`, which loses files when a
            server fails.
        capacity_gib: Storage in GiB: 1200 or a multiple of 2400; with EFA a multiple of 38400, 19200, 9600 or 4800 for
            the four throughput classes.
        throughput_mbps_per_tib: Throughput class of PERSISTENT_2 in MB/s per TiB of storage: 125, 250, 500 or 1000.
            Default: 125; SCRATCH_2 always has 200.
        efa: Whether clients can use EFA, on PERSISTENT_2 only. Default: TCP only.
        availability_zone: The training zone, which nodes and file system share. Default: the first zone.
        further_zones: Zones of other node groups, each of which gets a file system like this one, with the claim
            `training-lustre-<zone>`. Default: none.
        data_repositories: Up to 8 data repositories. Default: one, from root to root. `[]`: none.
    """

    deployment_type: str = "PERSISTENT_2"
    capacity_gib: int = LUSTRE_SMALLEST_GIB
    throughput_mbps_per_tib: int | None = Field(default=None, examples=[LUSTRE_THROUGHPUTS["PERSISTENT_2"][0]])
    efa: bool = False
    availability_zone: str | None = Field(default=None, examples=["us-east-1a"])
    further_zones: tuple[str, ...] = Field(default=(), examples=["[us-east-1b]"])
    data_repositories: tuple[DataRepositoryConfig, ...] = Field(
        default=(DataRepositoryConfig(),), examples=["[{path: /data, prefix: data/}]"]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        _ = self.spec
        return self

    @property
    def spec(self) -> LustreSpec:
        """The same values with their defaults."""
        values = self.model_dump(exclude={*_ZONES, "data_repositories"})
        return LustreSpec(**values, data_repositories=self._data_repositories)

    def props(self) -> dict[str, Any]:
        """Return the keywords of `cluster.add_lustre`."""
        props = self.model_dump(exclude={*_ZONES, "capacity_gib", "data_repositories"}, exclude_none=True)
        return {**props, "capacity": self.capacity_gib, "data_repositories": self._data_repositories}

    @property
    def _data_repositories(self) -> tuple[DataRepository, ...]:
        return tuple(each.spec for each in self.data_repositories)


class JobQueueConfig(Spec):
    """The queue of jobs.

    Attributes:
        queue_name: Its name, which jobs give as their queue.
        topology: Whether Kueue chooses nodes close to each other; needs node groups of a fixed size.
        max_jobs: Jobs that run at once. Default: what fits on the system nodes.
    """

    queue_name: str = QUEUE_NAME
    topology: bool = False
    max_jobs: int = MAX_JOBS

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (queue_can_be_made,))
        return self

    def props(self) -> dict[str, Any]:
        """Return the keywords of `cluster.add_job_queue`."""
        return self.model_dump()


JobQueueSection = Annotated[JobQueueConfig | None, BeforeValidator(switch)]


class ServiceAccountConfig(Spec):
    """The permissions of a job in S3, by the service account of its pods.

    Attributes:
        prefix: Folder of the bucket that the pods read and write, such as `runs/resnet50`; `/` for the whole bucket.
        namespace: Namespace of the service account.
        allow_delete: Whether the pods may delete objects too.
    """

    prefix: str = Field(examples=["runs/resnet50"])
    namespace: str = "default"
    allow_delete: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        enforce(self, (prefix_is_a_folder, namespace_is_a_label))
        return self

    def props(self) -> dict[str, Any]:
        """Return the keywords of `cluster.add_job_identity`."""
        return self.model_dump()


def queue_can_be_made(config: JobQueueConfig) -> Problems:
    """Reject what Kubernetes rejects, and a queue for no job."""
    yield from valid_queue(config.queue_name, config.max_jobs)


def prefix_is_a_folder(config: ServiceAccountConfig) -> Problems:
    """Reject a wildcard, and the whole bucket unless it is meant."""
    yield from valid_prefix("prefix", config.prefix)


def namespace_is_a_label(config: ServiceAccountConfig) -> Problems:
    """Reject what Kubernetes rejects."""
    yield from matches("namespace", config.namespace, DNS_LABEL, DNS_LABEL_RULE)
