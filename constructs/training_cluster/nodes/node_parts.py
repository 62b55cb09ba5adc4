"""What every node of the cluster has, system or GPU: root volume, metadata service, and the policies of its role."""

from collections.abc import Callable
from typing import Any

import jsii
from aws_cdk import IAnyProducer, IResolvable, IResolveContext, Lazy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from training_cluster.nodes.node_repair import NodeRepair
from training_cluster.suppressions import suppress_policy
from training_workloads.catalog.nodes import NODE_GROUP_LABEL

__all__ = [
    "CLUSTER_TAG",
    "FREE_IOPS",
    "FREE_MIB_PER_SECOND",
    "IMAGES_MIB_PER_SECOND",
    "IOPS_PER_MIB",
    "NODE_POLICIES",
    "allow_ssm",
    "launch_tags",
    "maintain",
    "metadata_options",
    "root_volume",
    "suppress_node_policies",
]

#: What EKS attaches to the role of a node: to join the cluster, to give addresses to pods, to pull images.
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")

# One hop ends on the node: a pod cannot use the node's role. The drivers use Kubernetes instead, and agents that need
# the service run on the host's network. https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
_METADATA_HOP_LIMIT = 1

#: Throughput of a root volume that holds container images, in MiB/s: what the AMI's parallel pull needs at least
#: (https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/#enabling-fast-image-pull-experimental).
IMAGES_MIB_PER_SECOND = 600

#: Every gp3 volume has these, and carries 0.25 MiB/s for each of its IOPS, up to 2,000 MiB/s and 80,000 IOPS
#: (https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-performance; read 2026-11-23 in CDK's
#: `EbsDeviceOptions`, which quotes the page, and the largest IOPS in excerpts of other projects).
FREE_MIB_PER_SECOND = 125
FREE_IOPS = 3000
IOPS_PER_MIB = 4

#: Tag of instances, volumes and interfaces with the cluster's name. EKS's own tags reach instances only.
CLUSTER_TAG = "training-cluster/cluster"

# The scope of these tags of a node group is the autoscaler.
_AUTOSCALER_TAGS = "k8s.io/cluster-autoscaler/"

# What EC2 creates with an instance:
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-ec2-launchtemplate-tagspecification.html
_TAGGED = ("instance", "volume", "network-interface")

_SSM_POLICY = "AmazonSSMManagedInstanceCore"

_LaunchTemplate = ec2.CfnLaunchTemplate


def root_volume(
    size_gib: int, key: kms.IKey | None, *, mib_per_second: int, iops: int | None = None
) -> _LaunchTemplate.BlockDeviceMappingProperty:
    """Return an encrypted gp3 volume, on the boot device of Amazon Linux.

    Args:
        size_gib: Size in GiB.
        key: Its key. Default: the account's key for EBS.
        mib_per_second: Throughput.
        iops: I/O operations per second. Default: what the throughput needs.
    """
    volume = _LaunchTemplate.EbsProperty(
        volume_type="gp3",
        volume_size=size_gib,
        throughput=mib_per_second,
        iops=iops or max(FREE_IOPS, IOPS_PER_MIB * mib_per_second),
        encrypted=True,
        kms_key_id=key.key_arn if key else None,
        delete_on_termination=True,
    )
    return _LaunchTemplate.BlockDeviceMappingProperty(device_name="/dev/xvda", ebs=volume)


def metadata_options() -> _LaunchTemplate.MetadataOptionsProperty:
    """Return IMDSv2, for the node itself and no pod."""
    return _LaunchTemplate.MetadataOptionsProperty(
        http_tokens="required", http_put_response_hop_limit=_METADATA_HOP_LIMIT
    )


def maintain(
    node_group: eks.Nodegroup, kubernetes_version: str | None, *, update_in_place: bool, repair: NodeRepair
) -> None:
    """Decide how EKS updates and repairs the nodes, and tie their release to the cluster's.

    A forced update would delete pods after 15 minutes whatever their PodDisruptionBudget says; without force the update
    fails instead, and the nodes stay
    (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html, read 2026-11-23).

    Args:
        node_group: The node group.
        kubernetes_version: Release of the nodes. None: EKS takes the cluster's.
        update_in_place: Whether a node stops before its successor starts: in a reservation that is all in use there is
            no room for both. Otherwise EKS starts the successors first, so that the pods have a place to go.
        repair: Limits of EKS's node auto repair.
    """
    resource = node_group.node.default_child
    assert isinstance(resource, eks.CfnNodegroup)
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html (read 2026-11-23)
    strategy = "MINIMAL" if update_in_place else "DEFAULT"
    resource.add_property_override("UpdateConfig", {"MaxUnavailable": 1, "UpdateStrategy": strategy})
    resource.force_update_enabled = False
    resource.version = kubernetes_version
    resource.node_repair_config = repair.to_property()


def launch_tags(node_group: Callable[[], eks.Nodegroup], *, cluster_name: str, name: str) -> IResolvable:
    """Return the tags of what a launch template starts, rendered at the end of the synthesis.

    They are those of the node group, so that `Tags.of(...)` at any level reaches them: CDK adds them to resources that
    take tags, and a launch template is none. EKS copies a node group's tags to nothing
    (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html, read 2026-11-23).

    Args:
        node_group: Returns the node group of the template, which is defined after it.
        cluster_name: Name of the cluster.
        name: Name of the node group, as the user gave it.
    """
    own = {CLUSTER_TAG: cluster_name, NODE_GROUP_LABEL: name, "Name": f"{cluster_name}/{name}"}
    return Lazy.uncached_any(_LaunchTags(node_group, own))


@jsii.implements(IAnyProducer)
class _LaunchTags:
    """Renders tags after the aspects that set them."""

    def __init__(self, node_group: Callable[[], eks.Nodegroup], own: dict[str, str]) -> None:
        self._node_group, self._own = node_group, own

    def produce(self, context: IResolveContext) -> Any:
        resource = self._node_group().node.default_child
        assert isinstance(resource, eks.CfnNodegroup)
        tags = self._own | dict(Stack.of(resource).tags.tag_values()) | dict(resource.tags.tag_values())
        # In the spelling of the L1's properties, which CDK translates after it has resolved them.
        rendered = [{"key": key, "value": tags[key]} for key in sorted(tags) if not key.startswith(_AUTOSCALER_TAGS)]
        return [{"resourceType": kind, "tags": rendered} for kind in _TAGGED]


def allow_ssm(node_group: eks.Nodegroup) -> None:
    """Let Session Manager open a shell on the nodes, whose AMI has its agent.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-getting-started-instance-profile.html
    """
    node_group.role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_SSM_POLICY))
    suppress_policy(node_group, "Systems Manager names this policy for its agent and keeps it", _SSM_POLICY)


def suppress_node_policies(node_group: eks.Nodegroup) -> None:
    """Suppress the managed policies of a node's role."""
    reason = "EKS names these three for a node's role and keeps them; none reads S3 or decrypts anything"
    suppress_policy(node_group, reason, *NODE_POLICIES)
