"""The people of the teams: their rights in the namespaces of their teams, and in no other."""

from collections.abc import Sequence
from typing import Any

import jsii
from aws_cdk import Aws, IStableAnyProducer, IStableListProducer, Lazy, Token
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.team.team import Team
from training_workloads.platform.team_manifests import member_group

__all__ = ["TeamMembers"]

# https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html (read 2026-11-28)
_EDIT_POLICY = "AmazonEKSEditPolicy"


@jsii.implements(IStableAnyProducer)
class _EditRights:
    """EKS's policy for editors, in the namespaces of a member's teams when the template is made."""

    def __init__(self, teams: list[Team]) -> None:
        self._teams = teams

    def produce(self) -> Any:
        arn = f"arn:{Aws.PARTITION}:eks::aws:cluster-access-policy/{_EDIT_POLICY}"
        scope = {"type": "namespace", "namespaces": [team.namespace for team in self._teams]}
        return [{"policyArn": arn, "accessScope": scope}]


@jsii.implements(IStableListProducer)
class _Groups:
    """The groups in Kubernetes of a member's teams when the template is made."""

    def __init__(self, teams: list[Team]) -> None:
        self._teams = teams

    def produce(self) -> list[str]:
        return [member_group(team.name) for team in self._teams]


class TeamMembers(Construct):
    """An access entry for each member of a team: EKS allows one for each principal, and each policy once in it."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        """Define no entry yet."""
        super().__init__(scope, id)
        self._cluster = cluster
        self._teams: dict[str, list[Team]] = {}

    def add(self, team: Team, arns: Sequence[str]) -> None:
        """Let principals into the namespace of one more team, when its border is there."""
        for arn in arns:
            teams = self._teams.setdefault(arn, [])
            teams.append(team)
            if len(teams) == 1:
                self._add_entry(arn, teams)
            self.node.add_dependency(team.border)

    def _add_entry(self, arn: str, teams: list[Team]) -> None:
        # A token cannot be an id.
        id = f"Member{len(self._teams)}" if Token.is_unresolved(arn) else arn
        eks.CfnAccessEntry(
            self,
            id,
            cluster_name=self._cluster.cluster_name,
            principal_arn=arn,
            access_policies=Lazy.any(_EditRights(teams)),
            kubernetes_groups=Lazy.list(_Groups(teams)),
        )
