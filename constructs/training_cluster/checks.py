"""The types of constructs' keywords: one with its check for each kind of object of the CDK; and the rules of folders.

A keyword has such a type as its annotation, in a `Spec` or in a signature with `@checked`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from aws_cdk import CfnResource, Reference, Token, Tokenization
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.names import dns_label
from training_workloads.platform.mirror import ecr_registry
from training_workloads.spec import Checked
from training_workloads.validation import MISSING, Problem, Problems, is_late

__all__ = [
    "AnyCluster",
    "Bucket",
    "Cluster",
    "DnsLabel",
    "JoinedCluster",
    "Key",
    "KnownChecked",
    "Mirror",
    "NamespaceNames",
    "Repository",
    "Role",
    "RunningVersion",
    "SecurityGroup",
    "Subnet",
    "Subnets",
    "Vpc",
    "as_tuple",
    "has",
    "imported_with",
    "is_a",
    "running_version",
    "valid_cluster",
    "valid_folder",
    "valid_nodes_subnet",
]

# Prefixes that people copy from the console with the folder: s3://bucket/, arn:aws:s3:::bucket/.
_BUCKET = re.compile(r"(s3://[^/]*/?|arn:[^:]*:s3:::[^/]*/?)(.*)", re.DOTALL)

_SUBNET = "vpc.private_subnets[0]"
_GIVE_A_SUBNET = f"give a subnet, such as {_SUBNET}"

_RELEASE = re.compile(r"1\.(\d{2})")
_OLDEST_RELEASE = next(iter(KUBERNETES_RELEASES))

_IMPORT = "import it with TrainingCluster.from_cluster_attributes"


class KnownChecked(Checked):
    """A rule for values that the synthesis knows: one that only the deployment knows is accepted."""

    def follow(self, value: Any) -> Any:
        """Return the value.

        Raises:
            InputError: The rule rejects the value.
        """
        # By the value's form: jsii's kernel ends at a NaN, and knows no objects of Python.
        return value if is_late(value) else super().follow(value)


def is_a(value: Any, attribute: str) -> bool:
    """Return whether a value is an object with an attribute: a class has the attributes of its objects."""
    return not isinstance(value, type) and hasattr(value, attribute)


def has(name: str, value: Any, attribute: str, fix: str) -> Problems:
    """Reject objects of another type, such as the name of a bucket in the place of the bucket.

    Args:
        name: The argument, as the user typed it.
        value: The user's value.
        attribute: An attribute that only objects of the type have.
        fix: The fix, in the imperative.
    """
    if not is_a(value, attribute):
        yield Problem(path=(name,), given=value, fix=fix)


def running_version(name: str, version: Any) -> Problems:
    """Reject a Kubernetes release that no cluster of EKS has any more, and other text.

    A release newer than the catalog's is accepted: EKS gets a new one every four months.
    """
    release = _RELEASE.fullmatch(version) if isinstance(version, str) else None
    if not release or int(release[1]) < int(_OLDEST_RELEASE.partition(".")[2]):
        fix = f"give the release of the cluster, in quotes; the oldest that EKS runs is {_OLDEST_RELEASE}"
        yield Problem(path=(name,), given=version, fix=fix)


def as_tuple(values: Any) -> Any:
    """Return the items of an iterable; text, whose letters would be its items, stays for the check of the type."""
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else values


def valid_cluster(name: str, cluster: Any, *, kubectl: bool = True, security_group: bool = False) -> Problems:
    """Require a cluster of `aws_eks_v2` that was not imported without attributes that the construct uses.

    Args:
        name: The argument, as the user typed it.
        cluster: The user's value.
        kubectl: Whether manifests are applied to it.
        security_group: Whether nodes join it: they need its security group and its VPC.
    """
    if type(cluster).__module__ == "aws_cdk.aws_eks" or not is_a(cluster, "cluster_name"):
        yield Problem(path=(name,), given=cluster, fix="give a cluster of aws_eks_v2, such as a TrainingCluster")
        return
    if kubectl and cluster.kubectl_provider is None:
        yield _without_kubectl(name, cluster)
    for attribute, what in (("cluster_security_group", "its security group"), ("vpc", "its VPC")):
        if security_group:
            yield from imported_with(name, cluster, attribute, what)


def imported_with(name: str, cluster: Any, attribute: str, what: str) -> Problems:
    """Reject a cluster that was imported without an attribute.

    Args:
        name: The argument, as the user typed it.
        cluster: A cluster.
        attribute: Name of the attribute.
        what: The attribute in words, and why it is needed.
    """
    if not _has(cluster, attribute):
        yield _imported_without(name, cluster, what)


def _without_kubectl(name: str, cluster: Any) -> Problem:
    if not isinstance(cluster, eks.Cluster):
        return _imported_without(name, cluster, "kubectl")
    fix = "give it kubectl_provider_options"
    return Problem(path=(name,), given=cluster.node.path, allowed="it has no kubectl", fix=fix)


def _imported_without(name: str, cluster: Any, what: str) -> Problem:
    return Problem(path=(name,), given=cluster.cluster_name, allowed=f"it was imported without {what}", fix=_IMPORT)


def _has(cluster: Any, attribute: str) -> bool:
    """Return whether an imported cluster knows an attribute; CDK raises for those that were not given."""
    try:
        return getattr(cluster, attribute) is not None
    except RuntimeError:
        return False


def valid_nodes_subnet(subnet: ec2.ISubnet | None, vpc: ec2.IVpc) -> Problems:
    """Reject a public `subnet`, and one of another VPC.

    EC2 gives no public address to an instance with several interfaces.

    Args:
        subnet: The user's subnet, or the cluster's training subnet; None where its VPC has no private one.
        vpc: The VPC of the nodes. That of a subnet which is imported by its id is not known.
    """
    if subnet is None:
        fix = "give the private subnet of the nodes"
        yield Problem(path=("subnet",), given=MISSING, allowed="the cluster's VPC has no private subnets", fix=fix)
    elif isinstance(subnet, ec2.PublicSubnet) or subnet.subnet_id in {each.subnet_id for each in vpc.public_subnets}:
        fix = f"give a private one, such as {_SUBNET}"
        yield Problem(path=("subnet",), given=subnet, allowed="it is public", fix=fix)
    elif _are_different(_vpc_id_of(subnet), vpc.vpc_id):
        fix = f"give one of {vpc.node.path}, such as {_SUBNET}"
        yield Problem(path=("subnet",), given=subnet, allowed="it is of another VPC than the cluster", fix=fix)


def _vpc_id_of(subnet: ec2.ISubnet) -> str | None:
    """Return the id of a subnet's VPC; None for an imported one."""
    resource = subnet.node.default_child
    return resource.vpc_id if isinstance(resource, ec2.CfnSubnet) else None


def _are_different(first: str | None, second: str) -> bool:
    """Return whether two ids are of different VPCs; one that only the deployment knows can be any."""
    ids = [_known_id(each) for each in (first, second)]
    return all(ids) and ids[0] != ids[1] and len({Token.is_unresolved(each) for each in (first, second)}) == 1


def _known_id(id: str | None) -> str | None:
    """Return an id, or the path of the VPC in this app whose id it will be; None where neither is known."""
    if id is None or not Token.is_unresolved(id):
        return id
    token = Tokenization.reverse_string(id).first_token
    target = token.target if isinstance(token, Reference) else None
    is_vpc = isinstance(target, CfnResource) and target.cfn_resource_type == "AWS::EC2::VPC"
    return target.node.path if target and is_vpc else None


def _subnets(name: str, subnets: Sequence[Any]) -> Problems:
    """Reject a list of ids."""
    for index, subnet in enumerate(subnets):
        if not is_a(subnet, "subnet_id"):
            yield Problem(path=(name, index), given=subnet, fix=_GIVE_A_SUBNET)


def _dns_labels(name: str, values: Sequence[str]) -> Problems:
    for number, value in enumerate(values):
        if not Token.is_unresolved(value):
            yield from (replace(problem, path=(name, number)) for problem in dns_label(name, value))


def valid_folder(name: str, folder: str) -> Problems:
    """Reject text that S3 would read as the name of another folder: with a bucket, an empty part, `.` or `..` in it.

    Args:
        name: The argument, as the user typed it.
        folder: Folder of a bucket.
    """
    allowed = ""
    if with_bucket := _BUCKET.fullmatch(folder):
        bucket, rest = with_bucket.groups()
        fix = f"give the folder without {bucket}: {rest}" if rest else f"give the folder without {bucket}, such as runs"
    elif folder.startswith("arn:"):
        allowed, fix = "that is an ARN", "give a folder of the bucket, such as runs"
    elif "//" in folder:
        allowed, fix = "a folder between // has no name", f"give {re.sub('/+', '/', folder).strip('/') or 'runs'}"
    elif {".", ".."} & set(folder.split("/")):
        allowed, fix = "S3 has no '.' and '..'", "give the folder's whole name, such as runs"
    else:
        return
    yield Problem(path=(name,), given=folder, allowed=allowed, fix=fix)


Bucket = Annotated[
    s3.IBucket,
    Checked(has, "bucket_arn", "give a bucket, such as a TrainingBucket or Bucket.from_bucket_name(...)"),
]
Key = Annotated[kms.IKey, Checked(has, "key_arn", "give a key, such as a TrainingKey or Key.from_key_arn(...)")]
Role = Annotated[iam.IRole, Checked(has, "role_arn", "give a role, such as Role.from_role_arn(..., mutable=False)")]
Repository = Annotated[
    ecr.IRepository,
    Checked(
        has, "repository_arn", "give a repository, such as an ImageRepository or Repository.from_repository_name(...)"
    ),
]
SecurityGroup = Annotated[
    ec2.ISecurityGroup,
    Checked(has, "security_group_id", "give a security group, such as SecurityGroup.from_security_group_id(...)"),
]
Subnet = Annotated[ec2.ISubnet, Checked(has, "subnet_id", _GIVE_A_SUBNET)]
Subnets = Annotated[Sequence[ec2.ISubnet], Checked(_subnets, typed=tuple[Any, ...])]
Vpc = Annotated[ec2.IVpc, Checked(has, "vpc_id", "give a VPC, such as a TrainingNetwork")]

#: A cluster to which manifests are applied; one that nodes join; and any.
Cluster = Annotated[eks.ICluster | eks.Cluster, Checked(valid_cluster)]
JoinedCluster = Annotated[eks.ICluster | eks.Cluster, Checked(valid_cluster, kubectl=False, security_group=True)]
AnyCluster = Annotated[eks.ICluster | eks.Cluster, Checked(valid_cluster, kubectl=False)]

DnsLabel = Annotated[str, KnownChecked(dns_label, typed=True)]
NamespaceNames = Annotated[Iterable[str], Checked(_dns_labels, read=as_tuple, typed=tuple[str, ...])]
#: A Kubernetes release that EKS runs, or a newer one.
RunningVersion = Annotated[str, Checked(running_version)]
#: A registry in ECR: the function with kubectl logs in to no other.
Mirror = Annotated[str, KnownChecked(ecr_registry)]
