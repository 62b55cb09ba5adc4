"""The MPI operator, installed in a cluster."""

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import check_cluster
from training_cluster.owner import own
from training_workloads import MpiJobDefinitionChart, MpiOperatorChart

__all__ = ["MpiOperator"]


class MpiOperator(Construct):
    """The MPIJob resource definition, and the controller that runs such jobs.

    Attributes:
        definition: The resource definition.
        operator: Permissions and Deployment of the controller.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        gang_scheduler: str | None = None,
        mirror: str | None = None,
    ) -> None:
        """Installs the operator.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster that runs the jobs.
            gang_scheduler: Scheduler that starts all workers of a job together or none, which must be installed:
                `volcano`, or the name of one with the coscheduling plugin. Default: none.
            mirror: ECR registry with a copy of the image. Default: the operator's own.

        Raises:
            InputError: The cluster has an operator from another construct, or the scheduler's name is none.
        """
        super().__init__(scope, id)
        check_cluster("cluster", cluster)
        own(self, cluster, "MPI operator")
        charts = cdk8s.App()
        definition = MpiJobDefinitionChart(charts, "Definition")
        operator = MpiOperatorChart(charts, "Operator", gang_scheduler=gang_scheduler, mirror=mirror)
        self.definition = eks.KubernetesManifest(self, "Definition", cluster=cluster, manifest=definition.to_json())
        self.operator = eks.KubernetesManifest(self, "Operator", cluster=cluster, manifest=operator.to_json())
        self.operator.node.add_dependency(self.definition)
