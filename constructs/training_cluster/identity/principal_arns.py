"""The principals of IAM that can have an access entry, and so use the Kubernetes API."""

import re
from collections.abc import Sequence
from typing import Annotated

from aws_cdk import Token

from training_workloads.catalog.regions import PARTITIONS
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems

__all__ = ["PrincipalArns"]

# An IAM role or user, not a session: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
# Names and paths: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
# A path may have any visible character; '*' and '?' are those of a policy, and no principal.
_PARTITION = "|".join(PARTITIONS)
_PATH = r"([!-)+->@-~]{1,510}/)?"
_PRINCIPAL = re.compile(rf"arn:({_PARTITION}):iam::[0-9]{{12}}:(role|user)/{_PATH}[A-Za-z0-9_+=,.@-]{{1,64}}")
_SESSION = re.compile(rf"arn:({_PARTITION}):sts::([0-9]{{12}}):assumed-role/([^/]+)/\S+")
_SERVICE_LINKED = ":role/aws-service-role/"


def _principals(name: str, arns: Sequence[str]) -> Problems:
    """Reject other values than ARNs of IAM roles or users, each given once: only these can have an access entry."""
    problems = [
        problem.under(name)
        for index, arn in enumerate(arns)
        if not Token.is_unresolved(arn)
        for problem in _principal(index, arn)
    ]
    if not problems and len(set(arns)) < len(arns):
        problems = [Problem(path=(name,), given=list(arns), fix="give each ARN once")]
    yield from problems


def _principal(index: int, arn: str) -> Problems:
    if session := _SESSION.fullmatch(arn):
        partition, account, role = session.groups()
        fix = f"give its role, such as arn:{partition}:iam::{account}:role/{role} (with the role's path, if it has one)"
        yield Problem(path=(index,), given=arn, allowed="that is a session", fix=fix)
    elif _SERVICE_LINKED in arn:
        allowed = "EKS does not accept the role of an AWS service"
        yield Problem(path=(index,), given=arn, allowed=allowed, fix="give a role or user of your account")
    elif not _PRINCIPAL.fullmatch(arn):
        fix = "give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin"
        yield Problem(path=(index,), given=arn, fix=fix)


#: ARNs of IAM roles or users.
PrincipalArns = Annotated[Sequence[str], Checked(_principals, typed=tuple[str, ...])]
