"""The log group of the control plane: one that EKS makes keeps its lines for ever, and stays when the cluster goes."""

import re

from aws_cdk import Aws, Fn, Names, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.suppressions import suppress_services_log_key

__all__ = ["add_control_plane_logs", "name_of_cluster"]

_KEPT = logs.RetentionDays.THREE_MONTHS

# Of a name's 100 characters (https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html), 9 are those
# of the stack's id.
_LONGEST = 91
_LONGEST_ID = 40


def name_of_cluster(scope: Construct, id: str) -> str:
    """Return a name that is known before the cluster exists, and that no later deployment of the stack shares.

    EKS writes to `/aws/eks/<name>/cluster`. A group that exists before keeps its retention and its key:
    https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html

    Args:
        id: Id of the cluster in the scope.
    """
    separator, id = "-", re.sub(r"[^A-Za-z0-9-]", "", id)[:_LONGEST_ID]
    tree = Names.unique_resource_name(scope, max_length=_LONGEST - len(id) - len(separator), separator=separator)
    # arn:aws:cloudformation:<region>:<account>:stack/<name>/<uuid>: the stack has a new one with each creation.
    uuid = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    return Fn.join(separator, [tree, id, Fn.select(0, Fn.split("-", uuid))])


def add_control_plane_logs(scope: Construct, id: str, *, cluster_name: str, key: kms.IKey | None) -> logs.LogGroup:
    """Define the group. It goes with the cluster: a cluster of every morning would leave a group every evening.

    Args:
        cluster_name: EKS's name of the cluster.
        key: Key of the lines. Default: a key of CloudWatch Logs.
    """
    group = logs.LogGroup(
        scope,
        id,
        log_group_name=f"/aws/eks/{cluster_name}/cluster",
        retention=_KEPT,
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )
    if key is None:
        suppress_services_log_key(group)
    return group
