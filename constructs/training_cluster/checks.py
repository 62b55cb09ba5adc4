"""What several constructs ask of their arguments: types that Python does not check, clusters, VPCs, folders and ids."""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

from aws_cdk import Token

from training_workloads import InputError
from training_workloads.validation import check_text

__all__ = [
    "ID_DIGITS",
    "check_cluster",
    "check_flag",
    "check_folder",
    "check_id",
    "check_is",
    "check_list",
    "check_string",
    "check_vpc",
    "shown",
]

_PLAIN = (str, int, float, bool, dict, list, tuple, type(None))

# What people copy from the console in front of the folder: s3://bucket/, arn:aws:s3:::bucket/.
_BUCKET = re.compile(r"(s3://[^/]*/?|arn:[^:]*:s3:::[^/]*/?)(.*)", re.DOTALL)

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html: 8 or 17 hexadecimal digits.
ID_DIGITS = r"([0-9a-f]{8}|[0-9a-f]{17})"


def shown(value: Any) -> str:
    """A value as the user typed it, or its type where Python would show an address in memory."""
    if isinstance(value, Enum):
        return str(value)
    kind = type(value).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    return repr(value) if isinstance(value, _PLAIN) else f"{article} {kind}"


def check_flag(argument: str, value: Any) -> None:
    """Refuses what is true or false to Python only: 'no' would mean yes.

    Raises:
        InputError: `value` is not a bool.
    """
    if not isinstance(value, bool):
        raise InputError(f"{argument!r} is {shown(value)}; give True or False")


def check_string(argument: str, value: Any, example: str) -> None:
    """Refuses objects of CDK, and numbers, where a name stands as text.

    Raises:
        InputError: `value` is not a string.
    """
    if not isinstance(value, str):
        raise InputError(f"{argument!r} is {shown(value)}; give the name as a string, such as {example!r}")


def check_list(argument: str, values: Any) -> None:
    """Refuses one value where a list is wanted; the letters of a string would be taken for its items.

    Raises:
        InputError: `values` is not a list.
    """
    if isinstance(values, str):
        raise InputError(f"{argument!r} is {values!r}; give a list: [{values}]")
    if not isinstance(values, Sequence):
        raise InputError(f"{argument!r} is {shown(values)}; give a list")


def check_is(argument: str, value: Any, *kinds: type) -> None:
    """Refuses an object of another type.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        kinds: The types that are allowed.

    Raises:
        InputError: `value` is of none of them.
    """
    if not isinstance(value, kinds):
        wanted = " or ".join(f"{kind.__name__}(...)" for kind in kinds)
        raise InputError(f"{argument!r} is {shown(value)}; give {wanted}")


def check_id(argument: str, value: Any, kind: str, command: str) -> None:
    """Refuses what is not the id of a resource; an id that only the deployment knows is taken.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.
        kind: What the id starts with, such as `sg`.
        command: What shows the id.

    Raises:
        InputError: `value` does not look like `<kind>-0123456789abcdef0`.
    """
    if not Token.is_unresolved(value):
        check_text(argument, value, f"{kind}-{ID_DIGITS}", f"an id such as {kind}-0123456789abcdef0 ({command})")


def check_cluster(argument: str, cluster: Any, *, kubectl: bool = True, security_group: bool = False) -> None:
    """Refuses what is not a cluster of `aws_eks_v2`, or one to which nothing can be added.

    Args:
        argument: What the user set, spelled as they typed it.
        cluster: What they gave.
        kubectl: Whether manifests are applied to it.
        security_group: Whether nodes join it.

    Raises:
        InputError: It is a construct around a cluster, something else, or a cluster that was imported without what is
            needed.
    """
    if hasattr(cluster, "cluster"):
        raise InputError(f"{argument!r} is {shown(cluster)}; give .cluster of it")
    if type(cluster).__module__ == "aws_cdk.aws_eks" or not hasattr(cluster, "cluster_name"):
        raise InputError(
            f"{argument!r} is {shown(cluster)}; give a cluster of aws_eks_v2, such as .cluster of a TrainingCluster or "
            "of an ExistingCluster"
        )
    if kubectl and cluster.kubectl_provider is None:
        raise InputError(f"{argument!r} was imported without kubectl; use ExistingCluster and give .cluster of it")
    if security_group and not _has_security_group(cluster):
        raise InputError(
            f"{argument!r} was imported without its security group; use ExistingCluster and give .cluster of it"
        )


def _has_security_group(cluster: Any) -> bool:
    """An imported cluster raises where it was not told; there is no other way to ask."""
    try:
        return cluster.cluster_security_group is not None
    except RuntimeError:
        return False


def check_vpc(argument: str, vpc: Any) -> None:
    """Refuses what is not a VPC.

    Raises:
        InputError: It is a construct around a VPC, or something else.
    """
    if hasattr(vpc, "vpc"):
        raise InputError(f"{argument!r} is {shown(vpc)}; give .vpc of it")
    if not hasattr(vpc, "vpc_id"):
        raise InputError(f"{argument!r} is {shown(vpc)}; give a VPC, such as .vpc of a TrainingNetwork")


def check_folder(argument: str, folder: str) -> None:
    """Refuses what S3 would take for the name of another folder than the one that is meant.

    Args:
        argument: What the user set, spelled as they typed it.
        folder: Folder of a bucket.

    Raises:
        InputError: It has the bucket in it, an empty part, or `.` or `..`.
    """
    if with_bucket := _BUCKET.fullmatch(folder):
        bucket, rest = with_bucket.groups()
        told = f"{bucket}: {rest}" if rest else f"{bucket}, such as runs"
        raise InputError(f"{argument!r} is {folder!r}; give the folder without {told}")
    if folder.startswith("arn:"):
        raise InputError(f"{argument!r} is {folder!r}, which is an ARN; give a folder of the bucket, such as runs")
    if "//" in folder:
        told = re.sub("/+", "/", folder).strip("/") or "runs"
        raise InputError(f"{argument!r} is {folder!r}, with a folder without a name between // in it; give {told}")
    if {".", ".."} & set(folder.split("/")):
        raise InputError(
            f"{argument!r} is {folder!r}, but S3 has no '.' and '..'; give the folder's whole name, such as runs"
        )
