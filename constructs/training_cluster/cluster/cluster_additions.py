"""The `add_…` methods of a cluster: each defines a construct in the cluster, in the right order."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.cluster.lifecycle import OrderedCluster
from training_cluster.nodes.gpu_node_group import GpuNodeGroup
from training_cluster.platform.training_platform import TrainingPlatform

__all__ = ["ClusterAdditions"]


class ClusterAdditions(OrderedCluster):
    """What `TrainingCluster` and an imported cluster have in common: methods that add the parts of a training cluster.

    Each part is created after what it needs and deleted before it, in any order of the calls.

    Attributes:
        gpu_node_groups: The groups that `add_gpu_node_group` defined, by id.
        platform: What `add_platform` defined; None before.
    """

    gpu_node_groups: Mapping[str, GpuNodeGroup] = MappingProxyType({})
    platform: TrainingPlatform | None = None

    @property
    def as_cluster(self) -> eks.ICluster:
        """The cluster in the type of CDK's interface, of which jsii's class lacks one member."""
        return cast(eks.ICluster, self)

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
    ) -> GpuNodeGroup:
        """Add a `GpuNodeGroup`; with EFA, the platform gets the EFA device plugin.

        Args:
            id: Id of the group among the cluster's node groups.
            instance_type: EC2 type with GPUs.
            subnet: A private subnet. Default: that of the training zone.
            min_size: Minimum number of nodes.
            desired_size: Nodes at deployment. Default: `min_size`.
            max_size: Maximum number of nodes. Default: the larger of `desired_size` and 1.
            capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK.
            capacity_reservation_id: The reservation or Capacity Block that the nodes run in. Default: none.
            placement_group: Whether the nodes get a new cluster placement group. Default: where it helps.
            efa: Whether the nodes get all EFA interfaces of their type. Default: yes where the type has them.
            ami_release: Release of the AL2023 NVIDIA AMI of EKS. Default: the newest at deployment.

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
        )
        self.gpu_node_groups = {**self.gpu_node_groups, id: group}
        self._add_efa_device_plugin()
        return group

    def add_platform(
        self, id: str, *, gang_scheduler: str | None = None, mirror: str | None = None
    ) -> TrainingPlatform:
        """Add a `TrainingPlatform`: device plugins for the cluster's GPU node groups, autoscaler and MPI operator.

        Args:
            id: Id in the cluster.
            gang_scheduler: Scheduler that starts all workers of a job together or not at all. Default: none.
            mirror: ECR registry with copies of charts and images. Default: their makers' registries.

        Raises:
            InputError: The cluster has one of the parts already, or an argument has no valid value.
        """
        scope = cast(Construct, self)
        self.platform = TrainingPlatform(
            scope, id, cluster=self.as_cluster, gang_scheduler=gang_scheduler, mirror=mirror
        )
        self._add_efa_device_plugin()
        return self.platform

    def _add_efa_device_plugin(self) -> None:
        if self.platform and any(group.efa_security_group for group in self.gpu_node_groups.values()):
            self.platform.add_efa_device_plugin()

    def _part(self, id: str) -> Construct:
        """Return the construct for parts of one kind; the first call defines it."""
        node = cast(Construct, self).node
        return cast(Construct, node.try_find_child(id) or Construct(cast(Construct, self), id))
