"""Rules that several constructs share: for flags, names, lists, ids, folders, registries, clusters and VPCs.

Each yields the problems of one argument.
"""

import re
from collections.abc import Sequence
from typing import Any

from aws_cdk import CfnResource, Reference, Token, Tokenization
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.names import aws_id
from training_workloads.platform.mirror import ecr_registry
from training_workloads.validation import MISSING, Problem, Problems

__all__ = [
    "imported_with",
    "is_a",
    "unless_token",
    "valid_bucket",
    "valid_cluster",
    "valid_flag",
    "valid_folder",
    "valid_id",
    "valid_key",
    "valid_list",
    "valid_mirror",
    "valid_repository",
    "valid_running_version",
    "valid_security_group",
    "valid_string",
    "valid_subnet",
    "valid_subnets",
    "valid_vpc",
]

# What people copy from the console in front of the folder: s3://bucket/, arn:aws:s3:::bucket/.
_BUCKET = re.compile(r"(s3://[^/]*/?|arn:[^:]*:s3:::[^/]*/?)(.*)", re.DOTALL)

_SUBNET = "vpc.private_subnets[0]"

_RELEASE = re.compile(r"1\.(\d{2})")
_OLDEST_RELEASE = next(iter(KUBERNETES_RELEASES))

_IMPORT = "import it with TrainingCluster.from_cluster_attributes"


def valid_bucket(bucket: Any) -> Problems:
    """Reject a `bucket` that is not one, such as its name."""
    if not is_a(bucket, "bucket_arn"):
        fix = "give a bucket, such as a TrainingBucket or Bucket.from_bucket_name(...)"
        yield Problem(path=("bucket",), given=bucket, fix=fix)


def valid_key(key: Any) -> Problems:
    """Reject an `encryption_key` that is not a key, such as an ARN or an alias."""
    if key is not None and not is_a(key, "key_arn"):
        fix = "give a key, such as a TrainingKey or Key.from_key_arn(...)"
        yield Problem(path=("encryption_key",), given=key, fix=fix)


def valid_running_version(name: str, version: Any) -> Problems:
    """Reject a Kubernetes release that no cluster of EKS has any more, and what is no release.

    A release newer than the catalog's is accepted: EKS gets a new one every four months.
    """
    release = _RELEASE.fullmatch(version) if isinstance(version, str) else None
    if not release or int(release[1]) < int(_OLDEST_RELEASE.partition(".")[2]):
        fix = f"give the release of the cluster, in quotes; the oldest that EKS runs is {_OLDEST_RELEASE}"
        yield Problem(path=(name,), given=version, fix=fix)


def valid_repository(repository: Any) -> Problems:
    """Reject a `repository` that is not one, such as its address."""
    if not is_a(repository, "repository_arn"):
        fix = "give a repository, such as an ImageRepository or Repository.from_repository_name(...)"
        yield Problem(path=("repository",), given=repository, fix=fix)


def valid_security_group(group: Any, name: str = "security_group") -> Problems:
    """Reject a security group that is not one, such as its id.

    Args:
        group: What the user gave; None where they gave none.
        name: The argument, as the user typed it.
    """
    if group is not None and not is_a(group, "security_group_id"):
        fix = "give a security group, such as SecurityGroup.from_security_group_id(...)"
        yield Problem(path=(name,), given=group, fix=fix)


def valid_flag(name: str, value: Any) -> Problems:
    """Reject non-bools: 'no' is true to Python."""
    if not isinstance(value, bool):
        yield Problem(path=(name,), given=value, fix="give True or False")


def valid_string(name: str, value: Any, example: str) -> Problems:
    """Reject numbers and objects of the CDK where a name must be a string."""
    if not isinstance(value, str):
        yield Problem(path=(name,), given=value, fix=f"give the name as a string, such as {example!r}")


def valid_list(name: str, values: Any) -> Problems:
    """Reject one value in the place of a list: the letters of a string would be its items."""
    if isinstance(values, str):
        yield Problem(path=(name,), given=values, fix=f"give a list: [{values}]")
    elif not isinstance(values, Sequence):
        yield Problem(path=(name,), given=values, fix="give a list")


def valid_mirror(mirror: Any) -> Problems:
    """Reject what is not an ECR registry: the function with kubectl logs in to no other. A token is allowed."""
    if mirror is not None:
        yield from unless_token(ecr_registry("mirror", mirror), mirror)


def valid_id(name: str, value: Any, kind: str, command: str) -> Problems:
    """Reject what is not the id of a resource; a token is allowed.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        kind: What the id starts with, such as `sg`.
        command: What shows the id.
    """
    yield from unless_token(aws_id(name, value, kind, command), value)


def unless_token(found: Problems, value: Any) -> Problems:
    """Yield what a rule finds, unless only the deployment knows the value.

    Args:
        found: What the rule yields.
        value: What the user gave.
    """
    if not Token.is_unresolved(value):
        yield from found


def valid_cluster(name: str, cluster: Any, *, kubectl: bool = True, security_group: bool = False) -> Problems:
    """Reject what is not a cluster of `aws_eks_v2`, or was imported without what the construct uses.

    Args:
        name: The argument, as the user typed it.
        cluster: What they gave.
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
        what: What it is, and why it is needed.
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


def valid_vpc(name: str, vpc: Any) -> Problems:
    """Reject what is not a VPC."""
    if not is_a(vpc, "vpc_id"):
        yield Problem(path=(name,), given=vpc, fix="give a VPC, such as a TrainingNetwork")


def valid_subnet(subnet: Any, vpc: ec2.IVpc | None = None) -> Problems:
    """Reject a `subnet` that is not one, such as its id, a public one, and one of another VPC.

    EC2 gives no public address to an instance with several interfaces, and nothing outside the VPC uses a file system.

    Args:
        subnet: What the user gave, or the cluster's training subnet; None where its VPC has no private one.
        vpc: The VPC that the subnet must be of. That of a subnet which is imported by its id is not known. Default: not
            known, and so are its public subnets.
    """
    if subnet is None:
        fix = "give the private subnet of the nodes"
        yield Problem(path=("subnet",), given=MISSING, allowed="the cluster's VPC has no private subnets", fix=fix)
    elif not is_a(subnet, "subnet_id"):
        yield Problem(path=("subnet",), given=subnet, fix=f"give a subnet, such as {_SUBNET}")
    elif vpc and (
        isinstance(subnet, ec2.PublicSubnet) or subnet.subnet_id in {each.subnet_id for each in vpc.public_subnets}
    ):
        yield Problem(
            path=("subnet",), given=subnet, allowed="it is public", fix=f"give a private one, such as {_SUBNET}"
        )
    elif vpc and _are_different(_vpc_id_of(subnet), vpc.vpc_id):
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


def valid_subnets(subnets: Any) -> Problems:
    """Reject `subnets` that are not a list of subnets, such as one subnet or a list of ids."""
    if problems := list(valid_list("subnets", subnets)):
        yield from problems
        return
    for index, subnet in enumerate(subnets):
        if not is_a(subnet, "subnet_id"):
            yield Problem(path=("subnets", index), given=subnet, fix=f"give a subnet, such as {_SUBNET}")


def valid_folder(name: str, folder: str) -> Problems:
    """Reject what S3 would read as the name of another folder: with a bucket, an empty part, `.` or `..` in it.

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


def is_a(value: Any, attribute: str) -> bool:
    """Return whether a value is an object with an attribute: a class has the attributes of its objects."""
    return not isinstance(value, type) and hasattr(value, attribute)
