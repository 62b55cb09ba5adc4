"""What every node of the cluster has, system or GPU: root volume, metadata service, and the policies of its role."""

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms

from training_cluster.suppressions import suppress_policy
from training_workloads.validation import Problem, Problems

__all__ = [
    "NODE_POLICIES",
    "metadata_options",
    "root_volume",
    "suppress_node_policies",
    "update_in_place",
    "valid_ami_release",
]

#: What EKS attaches to the role of a node: to join the cluster, to give addresses to pods, to pull images.
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")

# One hop ends on the node: a pod cannot use the node's role. The drivers use Kubernetes instead, and agents that need
# the service run on the host's network. https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
_METADATA_HOP_LIMIT = 1

_LaunchTemplate = ec2.CfnLaunchTemplate


def valid_ami_release(ami_release: str | None, kubernetes_version: str | None) -> Problems:
    """Reject an `ami_release` of another Kubernetes release than the node group's, as EKS does.

    Args:
        ami_release: Release of the AMI. None: the newest.
        kubernetes_version: Release of the nodes. None: not known.
    """
    if ami_release is None or kubernetes_version is None or Token.is_unresolved(kubernetes_version):
        return
    if not ami_release.startswith(f"{kubernetes_version}."):
        yield Problem(
            path=("ami_release",),
            given=ami_release,
            allowed=f"kubernetes_version is {kubernetes_version!r}",
            fix=f"give a release of {kubernetes_version}, or change the version",
            related=(("kubernetes_version",),),
        )


def root_volume(size_gib: int, key: kms.IKey | None) -> _LaunchTemplate.BlockDeviceMappingProperty:
    """Return an encrypted gp3 volume, on the boot device of Amazon Linux.

    Args:
        size_gib: Size in GiB.
        key: Its key. Default: the account's key for EBS.
    """
    volume = _LaunchTemplate.EbsProperty(
        volume_type="gp3",
        volume_size=size_gib,
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


def update_in_place(node_group: eks.Nodegroup, kubernetes_version: str | None) -> None:
    """Stop a node before its successor starts in an update, and tie the nodes' release to the cluster's.

    EKS's default starts the successors first: in a reservation that is all in use there are none, and elsewhere they
    cost money (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html).
    """
    resource = node_group.node.default_child
    assert isinstance(resource, eks.CfnNodegroup)
    resource.add_property_override("UpdateConfig", {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"})
    resource.version = kubernetes_version


def suppress_node_policies(node_group: eks.Nodegroup) -> None:
    """Suppress the managed policies of a node's role."""
    reason = "EKS names these three for a node's role and keeps them; none reads S3 or decrypts anything"
    suppress_policy(node_group, reason, *NODE_POLICIES)
