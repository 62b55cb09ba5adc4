"""A managed node group of GPU instances in one zone, placed close to each other."""

import os
import re
from typing import Annotated, cast

from aws_cdk import Annotations, Fn, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from training_cluster.checks import JoinedCluster, Key, KnownChecked, SecurityGroup, Subnet, valid_nodes_subnet
from training_cluster.lifecycle import ClusterDefaults, after_network_addons
from training_cluster.network.training_network import region_of, training_subnet
from training_cluster.nodes.ami_release import valid_ami_release
from training_cluster.nodes.efa_security_group import cluster_efa_group
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_cluster.nodes.newest_release import pinned_release
from training_cluster.nodes.node_parts import (
    allow_ssm,
    launch_tags,
    limit_node_role,
    maintain,
    metadata_options,
    node_identity,
    root_volume,
)
from training_cluster.nodes.node_repair import NodeRepair
from training_cluster.nodes.node_user_data import node_user_data
from training_cluster.platform.cluster_autoscaler import scale_from_zero_tags
from training_cluster.single_owner import own
from training_cluster.stack_order import order_stacks
from training_workloads.catalog.nodes import (
    GPU_TAINT_KEY,
    group_labels,
    node_devices,
    node_labels,
    node_resources,
)
from training_workloads.catalog.offers import is_offered
from training_workloads.keywords import keywords_of
from training_workloads.names import DNS_LABEL_LENGTH
from training_workloads.validation import Problem, Problems, check, matches

__all__ = ["GpuNodeGroup", "GpuNodeGroupOptions", "node_group_label"]

_TAINT_VALUE, _TAINT_EFFECT = "true", eks.TaintEffect.NO_SCHEDULE


class GpuNodeGroupOptions(GpuNodeGroupSpec):
    """The keywords of `add_gpu_node_group`.

    Attributes:
        subnet: A private subnet of the cluster's VPC, in the zone of the file system that the jobs read. Default: that
            of the training zone, or the VPC's first private subnet.
        efa_security_group: The group of the EFA interfaces, for a cluster that several stacks import: nodes with
            different groups cannot reach each other. Default: the cluster's, which its first node group with EFA
            defines.
    """

    subnet: Subnet | None = None
    efa_security_group: SecurityGroup | None = None


@GpuNodeGroupOptions.rule
def group_of_efa_is_used(options: GpuNodeGroupOptions) -> Problems:
    """Reject a security group for EFA where the nodes have none."""
    if options.efa_security_group is not None and not options.efa_interfaces:
        yield Problem(
            path=("efa_security_group",),
            given=options.efa_security_group,
            allowed=f"these nodes of {options.instance_type} have no EFA",
            fix="omit it",
            related=(("instance_type",), ("efa",)),
        )


class GpuNodeGroupProps(GpuNodeGroupOptions):
    """The keywords of `GpuNodeGroup`.

    Attributes:
        cluster: The cluster that the nodes join: ours or one of `aws_eks_v2`.
        encryption_key: Key of the root volumes. Default: the key of a `TrainingCluster`, else the account's key for
            EBS.
        kubernetes_version: Release of the nodes, which follows when the cluster's changes. Default: that of a
            `TrainingCluster`, else the cluster's when the group is created.
    """

    cluster: JoinedCluster
    encryption_key: Key | None = None
    kubernetes_version: (
        Annotated[str, KnownChecked(matches, r"1\.\d{2}", "a release of Kubernetes, such as 1.35")] | None
    ) = None


class GpuNodeGroup(Construct):
    """GPU nodes side by side in one zone, with every network interface of their type on the launch template.

    Attributes:
        spec: The nodes and their number, with the values that follow from them.
        name: Value of the nodes' label `training-cluster/node-group`, by which jobs select them: the id.
        node_group: The EKS node group.
        ami_release: The release of the nodes' AMI; None where it was not looked up, so that EKS chooses.
        launch_template: Interfaces, placement, reservation, disks, user data and metadata access.
        placement_group: Where EC2 puts the nodes close to each other, a new or an existing one; None where a
            reservation decides that.
        efa_security_group: The group of the EFA interfaces, which all node groups of the cluster share; None where the
            nodes have no EFA.
    """

    @keywords_of(GpuNodeGroupProps)
    def __init__(self, scope: Construct, id: str, props: GpuNodeGroupProps) -> None:
        """Define the node group.

        Args:
            id: Id in the scope; no other node group of the cluster may have it, because the nodes get it as a label.

        Raises:
            InputError: The values contradict each other or the catalog, the cluster was imported without its security
                group or VPC, the subnet is public or of another VPC, `kubernetes_version` is not a release, or the
                cluster has a node group of this id.
        """
        super().__init__(scope, id)
        cluster = props.cluster
        self.spec: GpuNodeGroupSpec = props
        self.name = node_group_label(id)
        ours = cluster if isinstance(cluster, ClusterDefaults) else ClusterDefaults()
        subnet, version = props.subnet or training_subnet(cluster.vpc), props.kubernetes_version or ours.node_version
        check(valid_nodes_subnet(subnet, cluster.vpc), valid_ami_release(props.ami_release, version))
        assert subnet
        own(self, cluster, f"node group {self.name}", fix="give one of the two another id")
        order_stacks(self, "", subnet=subnet, encryption_key=props.encryption_key)
        self.ami_release = pinned_release(self, props, "nvidia", version)
        self._nodes = Construct(self, self._identity(subnet))
        self.placement_group = self._placement_group()
        self.efa_security_group = props.efa_security_group or self._efa_group(cluster)
        self.launch_template = self._launch_template(cluster, props.encryption_key or ours.encryption_key)
        self.node_group = self._node_group(cast(eks.ICluster, cluster), subnet, version, ours.node_role)
        after_network_addons(self, cluster)
        self._warn_of_a_type_that_ec2_does_not_offer(subnet)
        self._register(ours)

    def _register(self, cluster: ClusterDefaults) -> None:
        cluster.gpu_types |= {self.spec.instance_type}
        cluster.add_efa_plugin(has_efa=self.efa_security_group is not None)

    def _warn_of_a_type_that_ec2_does_not_offer(self, subnet: ec2.ISubnet) -> None:
        """Warn, and define the group: only EC2 knows what it offers on the day of the deployment."""
        region, zone = Stack.of(self).region, _zone_of(subnet)
        if Token.is_unresolved(region):
            # `cdk` gives an app the region of the credentials, to which it deploys a stack without one.
            region = region_of(zone) if zone else os.environ.get("CDK_DEFAULT_REGION", "")
        # https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3648
        consequence = (
            "the node group ends in CREATE_FAILED, even with 0 nodes, after the control plane and Lustre were created, "
            "and the deployment is rolled back"
        )
        for problem in is_offered(self.spec.instance_type, region=region, consequence=consequence):
            Annotations.of(self).add_warning_v2("cdk-training-cluster:instance-type-not-offered", str(problem))

    def _warn_of_nodes_before_the_block(self) -> None:
        """Warn of nodes at deployment in a Capacity Block, whose dates only EC2 knows.

        EKS asks for a desired size of 0 too when such a group is updated
        (https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html, read 2026-11-23).
        """
        if self.spec.capacity_type == "CAPACITY_BLOCK" and self.spec.desired:
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:capacity-block-with-nodes",
                f"desired_size is {self.spec.desired}, but no node starts before the Capacity Block does, and the "
                "deployment fails; set min_size and desired_size to 0: when a job waits and the block has started, "
                "the autoscaler starts the nodes",
            )

    def _placement_group(self) -> ec2.IPlacementGroup | None:
        if not self.spec.in_placement_group:
            return None
        if isinstance(self.spec.placement_group, str):
            name = self.spec.placement_group
            return ec2.PlacementGroup.from_placement_group_name(self._nodes, "PlacementGroup", name)
        return ec2.PlacementGroup(self._nodes, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)

    def _efa_group(self, cluster: eks.ICluster | eks.Cluster) -> ec2.SecurityGroup | None:
        return cluster_efa_group(cluster) if self.spec.efa_interfaces else None

    def _identity(self, subnet: ec2.ISubnet) -> str:
        capacity_type, taint = self.spec.capacity_type, [_TAINT_EFFECT.value, GPU_TAINT_KEY, _TAINT_VALUE]
        # Another subnet or capacity type makes a new node group by itself; the placement group must be new too, because
        # it is of one zone while it has instances.
        fixed = {"subnet": _name_of(subnet), "capacity_type": capacity_type, "taint": taint}
        # A subnet of the app keeps its name in another zone.
        fixed |= {"zone": zone} if (zone := _zone_of(subnet)) else {}
        # Without the tag of the disk, which follows from the type: it is newer than groups that are deployed.
        tags = scale_from_zero_tags(node_devices(self.spec.instance, efa=bool(self.spec.efa_interfaces)))
        return node_identity(self.spec.instance_type, labels=self._labels, tags=tags, **fixed)

    @property
    def _labels(self) -> dict[str, str]:
        spec = self.spec
        of_group = group_labels(self.name, in_placement_group=spec.in_placement_group)
        return node_labels(spec.instance, efa=bool(spec.efa_interfaces)) | of_group

    @property
    def _tags(self) -> dict[str, str]:
        return scale_from_zero_tags(node_resources(self.spec.instance, efa=bool(self.spec.efa_interfaces)))

    def _node_group(
        self, cluster: eks.ICluster, subnet: ec2.ISubnet, version: str | None, role: iam.IRole | None
    ) -> eks.Nodegroup:
        spec = self.spec
        group = eks.Nodegroup(
            self._nodes,
            "Resource",
            cluster=cluster,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
            release_version=self.ami_release,
            min_size=spec.min_size,
            # EKS takes all three sizes or none when it creates a group, so that this cannot be left to the autoscaler
            # (https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html, read 2026-11-23).
            desired_size=spec.desired,
            max_size=spec.maximum,
            capacity_type=eks.CapacityType[spec.capacity_type],
            subnets=ec2.SubnetSelection(subnets=[subnet]),
            labels=self._labels,
            taints=[eks.TaintSpec(key=GPU_TAINT_KEY, value=_TAINT_VALUE, effect=_TAINT_EFFECT)],
            tags=self._tags,
            node_role=role,
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.ref, version=self.launch_template.attr_latest_version_number
            ),
        )
        # A node whose GPU, disk or network fails is replaced; the node monitoring agent reports it to EKS.
        maintain(group, version, update_in_place=True, repair=spec.node_repair or NodeRepair())
        limit_node_role(group, cluster)
        if spec.ssm:
            allow_ssm(group)
        self._warn_of_nodes_before_the_block()
        self.node.default_child = group
        return group

    def _launch_template(self, cluster: eks.ICluster | eks.Cluster, key: kms.IKey | None) -> ec2.CfnLaunchTemplate:
        """Define the template on the L1, the only place for network cards and EFA."""
        template, spec = ec2.CfnLaunchTemplate, self.spec
        # With interfaces on the launch template, EKS no longer adds the cluster's own security group.
        groups = [cluster.cluster_security_group_id]
        groups += [self.efa_security_group.security_group_id] if self.efa_security_group else []
        user_data = node_user_data(spec.instance, efa=bool(spec.efa_interfaces), fast_image_pull=spec.fast_image_pull)
        return template(
            self._nodes,
            "LaunchTemplate",
            launch_template_data=template.LaunchTemplateDataProperty(
                # Here and not on the node group, because EKS requires it here for a Capacity Block.
                instance_type=spec.instance_type,
                network_interfaces=self._network_interfaces(groups),
                placement=self._placement(),
                capacity_reservation_specification=self._reservation(),
                instance_market_options=self._market(),
                metadata_options=metadata_options(),
                block_device_mappings=[root_volume(spec.root_volume, key)],
                user_data=Fn.base64(user_data),
                tag_specifications=launch_tags(self._nodes, cluster_name=cluster.cluster_name, name=self.name),
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
        target = "capacity_reservation_resource_group_arn" if self.spec.reservation_group else "capacity_reservation_id"
        # A target and no preference: EC2 accepts one of the two.
        return template.CapacityReservationSpecificationProperty(
            capacity_reservation_target=template.CapacityReservationTargetProperty(
                **{target: self.spec.capacity_reservation_id}
            )
        )

    def _market(self) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
        # https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        if self.spec.capacity_type != "CAPACITY_BLOCK":
            return None
        return ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(market_type="capacity-block")


def node_group_label(id: str) -> str:
    """Return an id as the value of a label, which takes fewer characters.

    No two groups of a cluster may have one: they would be one to a job that selects it.
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", id)[:DNS_LABEL_LENGTH].strip("-_.")


def _zone_of(subnet: ec2.ISubnet) -> str | None:
    """Return a subnet's zone; None where only the deployment knows it, or it was not imported."""
    try:
        zone = subnet.availability_zone
    except RuntimeError:  # CDK's answer for a subnet that was imported by its id alone.
        return None
    return None if Token.is_unresolved(zone) else zone


def _name_of(subnet: ec2.ISubnet) -> str:
    """Return the name of a subnet in its VPC: its id where that is known, else its id in the app."""
    return subnet.node.id if Token.is_unresolved(subnet.subnet_id) else subnet.subnet_id
