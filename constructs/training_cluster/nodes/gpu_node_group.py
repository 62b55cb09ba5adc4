"""A managed node group of GPU instances in one zone, placed close to each other."""

from aws_cdk import Fn, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import check_cluster, check_is, check_vpc, shown
from training_cluster.nodes.efa_security_group import EfaSecurityGroup
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.node_parts import accept_node_policies, metadata_options, root_volume, update_in_place
from training_cluster.nodes.node_user_data import node_user_data
from training_cluster.platform.cluster_autoscaler import scale_from_zero_tags
from training_workloads import InputError
from training_workloads.catalog.nodes import GPU_TAINT_KEY, node_devices, node_labels

__all__ = ["GpuNodeGroup"]

_ROOT_VOLUME_GIB = 200


class GpuNodeGroup(Construct):
    """GPU nodes side by side in one zone, with every network interface of their type on the launch template.

    Nodes become ready only in a cluster with a CNI: where the stack makes that too, add a dependency on it, such as
    `group.node.add_dependency(training_cluster.network_addons)`.

    Attributes:
        spec: Which nodes, and how many.
        node_group: The EKS node group.
        launch_template: Where interfaces, placement, reservation, disks, user data and metadata access are said.
        placement_group: Where EC2 puts the nodes close to each other; None where a reservation decides that.
        efa_security_group: The group of the EFA interfaces; None where the nodes have no EFA.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        vpc: ec2.IVpc,
        subnet: ec2.ISubnet,
        spec: GpuNodeGroupSpec,
        encryption_key: kms.IKey | None = None,
        kubernetes_version: str | None = None,
    ) -> None:
        """Defines the node group.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster that the nodes join.
            vpc: The cluster's VPC.
            subnet: A private subnet, in the zone of the file system that the jobs read.
            spec: Which nodes, and how many.
            encryption_key: Key of the root volumes. Default: the account's own key for EBS.
            kubernetes_version: Release of the nodes, which follows when the cluster's changes. Default: the cluster's
                when the group is made.

        Raises:
            InputError: The cluster was imported without its security group, the subnet is public or in another zone
                than the spec says, or an argument is of another type.
        """
        super().__init__(scope, id)
        check_cluster("cluster", cluster, kubectl=False, security_group=True)
        check_vpc("vpc", vpc)
        check_is("spec", spec, GpuNodeGroupSpec)
        _check_private(vpc, subnet)
        _check_zone(spec, subnet)
        self.spec = spec
        cluster_placement = ec2.PlacementGroupStrategy.CLUSTER
        self.placement_group = (
            ec2.PlacementGroup(self, "PlacementGroup", strategy=cluster_placement) if spec.in_placement_group else None
        )
        self.efa_security_group = (
            EfaSecurityGroup(self, "EfaSecurityGroup", vpc=vpc).security_group if spec.efa_interfaces else None
        )
        # With interfaces on the launch template, EKS no longer adds the cluster's own security group.
        groups = [cluster.cluster_security_group, *filter(None, [self.efa_security_group])]
        self.launch_template = self._launch_template([group.security_group_id for group in groups], encryption_key)
        self.node_group = self._node_group(cluster, subnet)
        update_in_place(self.node_group, kubernetes_version)
        accept_node_policies(self.node_group)

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
            # A node whose GPU, disk or network fails is replaced; the node monitoring agent tells EKS.
            enable_node_auto_repair=True,
            labels=node_labels(spec.instance, efa=efa),
            taints=[eks.TaintSpec(key=GPU_TAINT_KEY, value="true", effect=eks.TaintEffect.NO_SCHEDULE)],
            tags=scale_from_zero_tags(node_devices(spec.instance, efa=efa)),
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )

    def _launch_template(self, security_group_ids: list[str], key: kms.IKey | None) -> ec2.CfnLaunchTemplate:
        """Defines the template on the L1, the only place where network cards and EFA can be said."""
        template, spec = ec2.CfnLaunchTemplate, self.spec
        return template(
            self,
            "LaunchTemplate",
            launch_template_data=template.LaunchTemplateDataProperty(
                # Here and not on the node group, because EKS wants it here for a Capacity Block.
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
        # A target and no preference: EC2 takes one of the two.
        return template.CapacityReservationSpecificationProperty(
            capacity_reservation_target=template.CapacityReservationTargetProperty(
                capacity_reservation_id=self.spec.capacity_reservation_id
            )
        )

    def _market(self) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
        """https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html."""
        if self.spec.capacity_type != "CAPACITY_BLOCK":
            return None
        return ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(market_type="capacity-block")


def _check_private(vpc: ec2.IVpc, subnet: ec2.ISubnet) -> None:
    """EC2 gives no public address to an instance with several interfaces, so it could not reach its cluster."""
    if not hasattr(subnet, "subnet_id"):
        raise InputError(f"'subnet' is {shown(subnet)}; give a subnet, such as vpc.private_subnets[0]")
    public = {each.subnet_id for each in vpc.public_subnets}
    if isinstance(subnet, ec2.PublicSubnet) or subnet.subnet_id in public:
        raise InputError("'subnet' is a public subnet; give a private one, such as vpc.private_subnets[0]")


def _check_zone(spec: GpuNodeGroupSpec, subnet: ec2.ISubnet) -> None:
    wanted, actual = spec.availability_zone, _known_zone(subnet)
    if wanted is not None and actual is not None and not Token.is_unresolved(wanted) and wanted != actual:
        raise InputError(
            f"'availability_zone' is {wanted!r}, but the subnet is in {actual}; give a subnet of {wanted}, or leave "
            "availability_zone out"
        )


def _known_zone(subnet: ec2.ISubnet) -> str | None:
    try:
        zone = subnet.availability_zone
    except RuntimeError:
        # A subnet that was imported by its id alone raises; there is no other way to ask.
        return None
    return None if Token.is_unresolved(zone) else zone
