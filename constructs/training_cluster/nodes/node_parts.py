"""The parts of every node, system or GPU: root volume, metadata service, and the policies of its role."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import jsii
from aws_cdk import (
    Annotations,
    AspectPriority,
    Aspects,
    IAnyProducer,
    IAspect,
    IResolvable,
    IResolveContext,
    Lazy,
    Stack,
    Token,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct, IConstruct

from training_cluster.lifecycle import ClusterDefaults
from training_cluster.nodes.node_repair import NodeRepair
from training_cluster.suppressions import suppress_policy
from training_workloads.catalog.nodes import NODE_GROUP_LABEL

__all__ = [
    "CLUSTER_TAG",
    "FREE_IOPS",
    "FREE_MIB_PER_SECOND",
    "IMAGES_MIB_PER_SECOND",
    "IOPS_PER_MIB",
    "allow_ssm",
    "launch_tags",
    "limit_node_role",
    "maintain",
    "metadata_options",
    "node_identity",
    "root_volume",
]

# Policies of the role of a node: to join the cluster, to give addresses to pods, to pull images. CDK attaches another
# one for images, which also lists every repository of the account and reads what scanners found in it.
_JOIN_POLICY = "AmazonEKSWorkerNodePolicy"
_CNI_POLICY = "AmazonEKS_CNI_Policy"
_PULL_POLICY = "AmazonEC2ContainerRegistryPullOnly"
_CDKS_PULL_POLICY = "AmazonEC2ContainerRegistryReadOnly"

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

# Tags that the autoscaler reads from the node group.
_AUTOSCALER_TAGS = "k8s.io/cluster-autoscaler/"

# Higher than that of any tag of CDK.
_ABOVE_ALL_TAGS = 2**31 - 1

# Resources that EC2 creates with an instance:
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-ec2-launchtemplate-tagspecification.html
_TAGGED = ("instance", "volume", "network-interface")

_SSM_POLICY = "AmazonSSMManagedInstanceCore"

_LaunchTemplate = ec2.CfnLaunchTemplate


def root_volume(
    size_gib: int, key: kms.IKey | None, *, mib_per_second: int, iops: int | None = None
) -> _LaunchTemplate.BlockDeviceMappingProperty:
    """Return an encrypted gp3 volume, on the boot device of Amazon Linux, by default with the IOPS that it needs."""
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
    for text in repair.overrides_without_effect():
        Annotations.of(node_group).add_warning_v2("cdk-training-cluster:repair-of-an-event", text)


def node_identity(instance_type: str, **fixed: Any) -> str:
    """Return the id of the construct around a node group, its launch template and its placement group.

    It is made of the instance type and of the values, in JSON, that do not change while the group exists.

    CloudFormation rejects an update of a node group that changes its launch template and anything else
    (https://github.com/aws/aws-cdk/issues/16644). With this id, a change of the kind of nodes makes a new group, and
    deletes the old one: docs/adr/0026-node-groups-are-named-by-what-their-nodes-are.md.
    """
    digest = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()
    return f"{instance_type}-{digest[:8]}"


def launch_tags(nodes: Construct, *, cluster_name: str, name: str) -> IResolvable:
    """Return the tags of the instances of a launch template, rendered at the end of the synthesis.

    They are those that `Tags.of(...)` at any level gives the node group, which itself keeps the autoscaler's only: a
    tag of both would change both, which EKS rejects. EKS copies a node group's tags to nothing
    (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html, read 2026-11-23).
    """
    tags = _LaunchTags({CLUSTER_TAG: cluster_name, NODE_GROUP_LABEL: name, "Name": f"{cluster_name}/{name}"})
    Aspects.of(nodes).add(tags, priority=AspectPriority.READONLY)
    return Lazy.uncached_any(tags)


@jsii.implements(IAspect, IAnyProducer)
class _LaunchTags:
    """Moves tags from the node group to the instances of its launch template, after the aspects that set them."""

    def __init__(self, own: dict[str, str]) -> None:
        self._tags = own

    def visit(self, node: IConstruct) -> None:
        if not isinstance(node, eks.CfnNodegroup):
            return
        of_stack, of_group = dict(Stack.of(node).tags.tag_values()), dict(node.tags.tag_values())
        moved = {key: value for key, value in of_group.items() if not key.startswith(_AUTOSCALER_TAGS)}
        for key in moved:
            node.tags.remove_tag(key, _ABOVE_ALL_TAGS)
        self._tags |= of_stack | moved
        if of_stack:
            _warn_of_stack_tags(node, of_stack)

    def produce(self, context: IResolveContext) -> Any:
        # In the spelling of the L1's properties, which CDK translates after it has resolved them.
        rendered = [{"key": key, "value": self._tags[key]} for key in sorted(self._tags)]
        return [{"resourceType": kind, "tags": rendered} for kind in _TAGGED]


def _warn_of_stack_tags(node_group: eks.CfnNodegroup, tags: dict[str, str]) -> None:
    Annotations.of(node_group).add_warning_v2(
        "cdk-training-cluster:stack-tags",
        f"the stack itself has tags ({', '.join(sorted(tags))}), which CloudFormation puts on the node group too; EKS "
        "rejects a change of such a tag, because the nodes' launch template has it as well. Give tags by "
        "Tags.of(...).add(...) in place of Stack(tags=...), with '@aws-cdk/core:explicitStackTags': true in the "
        "context of cdk.json",
    )


def allow_ssm(node_group: eks.Nodegroup) -> None:
    """Let Session Manager open a shell on the nodes, whose AMI has its agent.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-getting-started-instance-profile.html
    """
    node_group.role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(_SSM_POLICY))
    suppress_policy(node_group, "Systems Manager names this policy for its agent and keeps it", _SSM_POLICY)


def limit_node_role(node_group: eks.Nodegroup, cluster: Any) -> None:
    """Leave a node's role the right to pull images, and none on network interfaces where the CNI has its own role.

    The CNI of an imported cluster may use the role of the node.
    """
    cni = () if isinstance(cluster, ClusterDefaults) and cluster.network_addons else (_CNI_POLICY,)
    Aspects.of(node_group.role).add(_NodePolicies(cni), priority=AspectPriority.READONLY)
    reason = "EKS names these for a node's role and keeps them; none reads S3 or decrypts anything"
    suppress_policy(node_group, reason, _JOIN_POLICY, *cni, _PULL_POLICY)


@jsii.implements(IAspect)
class _NodePolicies:
    """Replaces the policies that CDK attaches by those that a node needs; policies of the user stay."""

    def __init__(self, cni: Sequence[str]) -> None:
        self._dropped = {_CDKS_PULL_POLICY, _CNI_POLICY} - set(cni)

    def visit(self, node: IConstruct) -> None:
        if not isinstance(node, iam.CfnRole):
            return
        arns = Stack.of(node).resolve(node.managed_policy_arns)
        kept = [arn for arn in arns if not any(str(arn).endswith(f"/{name}']]}}") for name in self._dropped)]
        pull = iam.ManagedPolicy.from_aws_managed_policy_name(_PULL_POLICY).managed_policy_arn
        node.managed_policy_arns = [*(arn if isinstance(arn, str) else Token.as_string(arn) for arn in kept), pull]
