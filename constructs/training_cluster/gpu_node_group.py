"""A managed node group of GPU instances in one zone and one placement group."""

from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct
from pydantic import ConfigDict

from training_cluster.efa_security_group import EfaSecurityGroup
from training_workloads import InputError, InstanceType, gpu_instance_type
from training_workloads.errors import check_at_least
from training_workloads.scheduling import GPU_TAINT_KEY, node_labels

__all__ = ["GpuNodeGroup", "GpuNodeGroupSpec"]

_ROOT_VOLUME_GIB = 200
# Containers are one network hop away from the instance metadata service.
_METADATA_HOP_LIMIT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuNodeGroupSpec:
    """Which nodes, and how many.

    Attributes:
        instance_type: EC2 type with GPUs.
        min_size: Fewest nodes.
        desired_size: Nodes at deployment. Default: `min_size`.
        max_size: Most nodes. Default: the larger of `desired_size` and 1.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    instance_type: str
    min_size: int = 0
    desired_size: int | None = None
    max_size: int | None = None

    def __post_init__(self) -> None:
        """Checks the type against the catalog and the sizes against each other."""
        gpu_instance_type(self.instance_type)
        check_at_least("min_size", self.min_size, 0)
        check_at_least("max_size", self.maximum, 1)
        check_at_least("desired_size", self.desired, 0)
        if not self.min_size <= self.desired <= self.maximum:
            raise InputError(
                f"'desired_size' is {self.desired}; it must lie between min_size ({self.min_size}) "
                f"and max_size ({self.maximum})"
            )

    @property
    def instance(self) -> InstanceType:
        """The catalog's record of the instance type."""
        return gpu_instance_type(self.instance_type)

    @property
    def desired(self) -> int:
        """Nodes at deployment."""
        return self.min_size if self.desired_size is None else self.desired_size

    @property
    def maximum(self) -> int:
        """Most nodes."""
        return max(self.desired, 1) if self.max_size is None else self.max_size


class GpuNodeGroup(Construct):
    """GPU nodes side by side in one zone, with every network interface of their type on the launch template.

    Nodes become ready only in a cluster with a CNI: where the stack makes that too, add a dependency on it, such as
    `group.node.add_dependency(training_cluster.network_addons)`.

    Attributes:
        spec: Which nodes, and how many.
        node_group: The EKS node group.
        launch_template: Where interfaces, placement, disks and metadata access are said.
        placement_group: Where EC2 puts the nodes close to each other.
        efa_security_group: The group of the EFA interfaces; None where the type has no EFA.
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
    ) -> None:
        """Defines the node group.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster that the nodes join.
            vpc: The cluster's VPC.
            subnet: A private subnet, in the zone of the file system that the jobs read.
            spec: Which nodes, and how many.
        """
        super().__init__(scope, id)
        self.spec = spec
        self.placement_group = ec2.PlacementGroup(self, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)
        self.efa_security_group = (
            EfaSecurityGroup(self, "EfaSecurityGroup", vpc=vpc).security_group if spec.instance.efa_interfaces else None
        )
        # With interfaces on the launch template, EKS no longer adds the cluster's own security group.
        groups = [cluster.cluster_security_group, *filter(None, [self.efa_security_group])]
        self.launch_template = self._launch_template([group.security_group_id for group in groups])
        self.node_group = eks.Nodegroup(
            self,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
            instance_types=[ec2.InstanceType(spec.instance_type)],
            min_size=spec.min_size,
            desired_size=spec.desired,
            max_size=spec.maximum,
            subnets=ec2.SubnetSelection(subnets=[subnet]),
            labels=node_labels(spec.instance),
            taints=[eks.TaintSpec(key=GPU_TAINT_KEY, value="true", effect=eks.TaintEffect.NO_SCHEDULE)],
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )

    def _launch_template(self, security_group_ids: list[str]) -> ec2.CfnLaunchTemplate:
        """Defines the template on the L1, the only place where network cards and EFA can be said."""
        template = ec2.CfnLaunchTemplate
        interfaces = [
            template.NetworkInterfaceProperty(
                network_card_index=interface.network_card,
                device_index=interface.device,
                interface_type=interface.kind,
                groups=security_group_ids,
                delete_on_termination=True,
            )
            for interface in self.spec.instance.network_interfaces
        ]
        root_volume = template.EbsProperty(volume_type="gp3", volume_size=_ROOT_VOLUME_GIB, encrypted=True)
        return template(
            self,
            "LaunchTemplate",
            launch_template_data=template.LaunchTemplateDataProperty(
                network_interfaces=interfaces,
                placement=template.PlacementProperty(group_name=self.placement_group.placement_group_name),
                metadata_options=template.MetadataOptionsProperty(
                    http_tokens="required", http_put_response_hop_limit=_METADATA_HOP_LIMIT
                ),
                block_device_mappings=[template.BlockDeviceMappingProperty(device_name="/dev/xvda", ebs=root_volume)],
            ),
        )
