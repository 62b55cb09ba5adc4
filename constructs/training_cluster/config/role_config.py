"""The keys that name roles of the account, and the policy that limits the roles of a deployment."""

import re
from typing import Annotated

from pydantic import Field

from training_workloads.catalog.regions import PARTITIONS
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, matches

__all__ = ["RoleConfig"]

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns
_PARTITION = "|".join(PARTITIONS)
_NAME = r"([!-~]{1,510}/)?[A-Za-z0-9_+=,.@-]{1,128}"
_POLICY = rf"arn:({_PARTITION}):iam::([0-9]{{12}}|aws):policy/{_NAME}"
_POLICY_RULE = "the ARN of a managed policy, such as arn:aws:iam::111122223333:policy/Boundary (aws iam list-policies)"
_ROLE = rf"arn:({_PARTITION}):iam::[0-9]{{12}}:role/{_NAME}"
_CLUSTER_ROLE, _NODE_ROLE = (f"arn:aws:iam::111122223333:role/{name}" for name in ("Cluster", "Nodes"))
_SERVICE_LINKED = re.compile(r"arn:[^:]+:iam::[0-9]{12}:role/aws-service-role/.*")


def _role(name: str, arn: str, example: str) -> Problems:
    """Reject the role of an AWS service, and other text than the ARN of a role."""
    if _SERVICE_LINKED.fullmatch(arn):
        allowed = "that is the role of an AWS service, which EKS does not accept"
        yield Problem(path=(name,), given=arn, allowed=allowed, fix="give a role of your account")
    else:
        yield from matches(name, arn, _ROLE, f"the ARN of an IAM role, such as {example} (aws iam list-roles)")


class RoleConfig(Spec):
    """The roles of the cluster and of its nodes, and the limit of every role.

    Attributes:
        permissions_boundary: ARN of a managed policy that limits every role of every stack, those of CDK's own
            functions too. Default: none.
        cluster_role: ARN of the role of the control plane, which stays as it is. A deployed cluster keeps its role.
            Default: a new one.
        node_role: ARN of the role of all nodes, which stays as it is. Default: a new one for each node group.
    """

    permissions_boundary: Annotated[str, Checked(matches, _POLICY, _POLICY_RULE, typed=True)] | None = Field(
        default=None, examples=["arn:aws:iam::111122223333:policy/Boundary"]
    )
    cluster_role: Annotated[str, Checked(_role, _CLUSTER_ROLE, typed=True)] | None = Field(
        default=None, examples=[_CLUSTER_ROLE]
    )
    node_role: Annotated[str, Checked(_role, _NODE_ROLE, typed=True)] | None = Field(
        default=None, examples=[_NODE_ROLE]
    )
