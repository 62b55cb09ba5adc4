"""A managed node group of GPU instances in one zone, placed close to each other."""

from typing import cast

from aws_cdk import Fn
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import unless_token, valid_cluster, valid_key, valid_subnet
from training_cluster.lifecycle import ClusterDefaults, after_network_addons
from training_cluster.network.training_network import training_subnet
from training_cluster.nodes.efa_security_group import EfaSecurityGroup
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.node_parts import (
    metadata_options,
    root_volume,
    suppress_node_policies,
    update_in_place,
    valid_ami_release,
)
from training_cluster.nodes.node_user_data import node_user_data
from training_cluster.platform.cluster_autoscaler import scale_from_zero_tags
from training_workloads.catalog.nodes import GPU_TAINT_KEY, node_devices, node_labels
from training_workloads.validation import Problems, check, matches

__all__ = ["GpuNodeGroup"]

_ROOT_VOLUME_GIB = 200


class GpuNodeGroup(Construct):
    """GPU nodes side by side in one zone, with every network interface of their type on the launch template.

    Attributes:
        spec: The nodes and their number, with what follows from them.
        node_group: The EKS node group.
        launch_template: Interfaces, placement, reservation, disks, user data and metadata access.
        placement_group: Where EC2 puts the nodes close to each other; None where a reservation decides that.
        efa_security_group: The group of the EFA interfaces; None where the nodes have no EFA.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster | eks.Cluster,
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
        encryption_key: kms.IKey | None = None,
        kubernetes_version: str | None = None,
    ) -> None:
        """Define the node group.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster that the nodes join: ours or one of `aws_eks_v2`.
            instance_type: EC2 type with GPUs.
            subnet: A private subnet of the cluster's VPC, in the zone of the file system that the jobs read. Default:
                that of the training zone, or the VPC's first private subnet.
            min_size: Minimum number of nodes; with 0 the group scales to zero when no job needs it. Default: 0.
            desired_size: Nodes at deployment. Default: `min_size`.
            max_size: Maximum number of nodes, the limit of the autoscaler. Default: the larger of `desired_size` and 1.
            capacity_type: ON_DEMAND, SPOT or CAPACITY_BLOCK (Capacity Block for ML). Default: ON_DEMAND.
            capacity_reservation_id: The On-Demand Capacity Reservation or Capacity Block (`cr-…`) that the nodes run
                in. Default: none.
            placement_group: Whether the nodes get a new cluster placement group. Default: yes where the type can,
                unless a reservation decides the placement, or Spot capacity is scarce enough without.
            efa: Whether the nodes get all EFA interfaces of their type. Default: yes where the type has them.
            ami_release: Release of the AL2023 NVIDIA AMI of EKS, such as 1.35.0-20260917. Default: the newest at
                deployment.
            encryption_key: Key of the root volumes. Default: the key of a `TrainingCluster`, else the account's key
                for EBS.
            kubernetes_version: Release of the nodes, which follows when the cluster's changes. Default: that of a
                `TrainingCluster`, else the cluster's when the group is created.

        Raises:
            InputError: The values contradict each other or the catalog, the cluster was imported without its security
                group or VPC, the subnet is public, or `kubernetes_version` is not a release.
        """
        super().__init__(scope, id)
        check(
            valid_cluster("cluster", cluster, kubectl=False, security_group=True),
            valid_key(encryption_key),
            _valid_release(kubernetes_version),
        )
        self.spec = GpuNodeGroupSpec(
            instance_type=instance_type.to_string() if isinstance(instance_type, ec2.InstanceType) else instance_type,
            min_size=min_size,
            desired_size=desired_size,
            max_size=max_size,
            capacity_type=capacity_type.value if isinstance(capacity_type, eks.CapacityType) else capacity_type,
            capacity_reservation_id=capacity_reservation_id,
            placement_group=placement_group,
            efa=efa,
            ami_release=ami_release,
        )
        ours = cluster if isinstance(cluster, ClusterDefaults) else ClusterDefaults()
        subnet = subnet or training_subnet(cluster.vpc)
        version = kubernetes_version or ours.node_version
        check(valid_subnet(subnet, cluster.vpc), valid_ami_release(ami_release, version))
        assert subnet
        self.placement_group = self._placement_group()
        self.efa_security_group = (
            EfaSecurityGroup(self, "EfaSecurityGroup", vpc=cluster.vpc) if self.spec.efa_interfaces else None
        )
        # With interfaces on the launch template, EKS no longer adds the cluster's own security group.
        groups = [cluster.cluster_security_group_id]
        groups += [self.efa_security_group.security_group_id] if self.efa_security_group else []
        self.launch_template = self._launch_template(groups, encryption_key or ours.encryption_key)
        self.node_group = self._node_group(cast(eks.ICluster, cluster), subnet)
        update_in_place(self.node_group, version)
        suppress_node_policies(self.node_group)
        after_network_addons(self, cluster)
        self._register(ours)

    def _register(self, cluster: ClusterDefaults) -> None:
        cluster.gpu_types |= {self.spec.instance_type}
        cluster.add_efa_plugin(has_efa=self.efa_security_group is not None)

    def _placement_group(self) -> ec2.PlacementGroup | None:
        if not self.spec.in_placement_group:
            return None
        return ec2.PlacementGroup(self, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)

    def _node_group(self, cluster: eks.ICluster, subnet: ec2.ISubnet) -> eks.Nodegroup:
        spec, efa = self.spec, bool(self.spec.efa_interfaces)
        return eks.Nodegroup(
            self,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
            release_version=spec.ami_release,
            capacity_type=eks.CapacityType[spec.capacity_type],
            min_size=spec.min_size,
            desired_size=spec.desired,
            max_size=spec.maximum,
            subnets=ec2.SubnetSelection(subnets=[subnet]),
            # A node whose GPU, disk or network fails is replaced; the node monitoring agent reports it to EKS.
            enable_node_auto_repair=True,
            labels=node_labels(spec.instance, efa=efa),
            taints=[eks.TaintSpec(key=GPU_TAINT_KEY, value="true", effect=eks.TaintEffect.NO_SCHEDULE)],
            tags=scale_from_zero_tags(node_devices(spec.instance, efa=efa)),
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )

    def _launch_template(self, security_group_ids: list[str], key: kms.IKey | None) -> ec2.CfnLaunchTemplate:
        """Define the template on the L1, the only place for network cards and EFA."""
        template, spec = ec2.CfnLaunchTemplate, self.spec
        return template(
            self,
            "LaunchTemplate",
            launch_template_data=template.LaunchTemplateDataProperty(
                # Here and not on the node group, because EKS requires it here for a Capacity Block.
                instance_type=spec.instance_type,
                network_interfaces=self._network_interfaces(security_group_ids),
                placement=self._placement(),
                capacity_reservation_specification=self._reservation(),
                instance_market_options=self._market(),
                metadata_options=metadata_options(),
                block_device_mappings=[root_volume(_ROOT_VOLUME_GIB, key)],
                user_data=Fn.base64(node_user_data(spec.instance, efa=bool(spec.efa_interfaces))),
            ),
        )

    def _network_interfaces(
        self, security_group_ids: list[str]
    ) -> list[ec2.CfnLaunchTemplate.NetworkInterfaceProperty]:
        return [
            ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
                network_card_index=interface.network_card,
                device_index=interface.device,
                interface_type=interface.kind,
                groups=security_group_ids,
                delete_on_termination=True,
            )
            for interface in self.spec.network_interfaces
        ]

    def _placement(self) -> ec2.CfnLaunchTemplate.PlacementProperty | None:
        if self.placement_group is None:
            return None
        return ec2.CfnLaunchTemplate.PlacementProperty(group_name=self.placement_group.placement_group_name)

    def _reservation(self) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty | None:
        template = ec2.CfnLaunchTemplate
        if self.spec.capacity_reservation_id is None:
            return None
        # A target and no preference: EC2 accepts one of the two.
        return template.CapacityReservationSpecificationProperty(
            capacity_reservation_target=template.CapacityReservationTargetProperty(
                capacity_reservation_id=self.spec.capacity_reservation_id
            )
        )

    def _market(self) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
        # https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        if self.spec.capacity_type != "CAPACITY_BLOCK":
            return None
        return ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(market_type="capacity-block")


def _valid_release(version: str | None) -> Problems:
    """Reject what is not a release of Kubernetes; which ones EKS has is the cluster's rule."""
    if version is not None:
        form = "a release of Kubernetes, such as 1.35"
        yield from unless_token(matches("kubernetes_version", version, r"1\.\d{2}", form), version)
