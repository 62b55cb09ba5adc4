"""The parts that all teams of a cluster have in common: admission policies, access entries and open namespaces."""

from collections.abc import Iterable

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.platform.open_namespaces import OpenNamespaces
from training_cluster.team.team import Team
from training_cluster.team.team_members import TeamMembers
from training_workloads.platform.team_admission import team_admission

__all__ = ["SharedCluster"]


class SharedCluster(Construct):
    """The admission policies of the teams' namespaces, and the rights of their members.

    Attributes:
        admission: The admission policies.
        open_namespaces: Network policies of the namespaces outside teams.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, queue_name: str) -> None:
        """Define the policies."""
        super().__init__(scope, id)
        documents = team_admission(queue_name)
        self.admission = apply_manifest(self, "Admission", cluster=cluster, documents=documents)
        self.open_namespaces = OpenNamespaces(self, "OpenNamespaces", cluster=cluster)
        self._members = TeamMembers(self, "Members", cluster=cluster)

    def add_namespaces(self, names: Iterable[str]) -> None:
        """Keep the network of more namespaces outside teams as it is without policies."""
        self.open_namespaces.add(names)

    def add_team(self, team: Team) -> None:
        """Let the members of a team into its namespace, when its border is there."""
        team.border.node.add_dependency(self.admission)
        self._members.add(team, team.spec.member_arns)
