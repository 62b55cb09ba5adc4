"""The MPI operator, installed in a cluster."""

import cdk8s
from constructs import Construct

from training_cluster.checks import Cluster, Mirror
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import after_admission, after_node_addons
from training_cluster.single_owner import own
from training_workloads import MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.keywords import checked
from training_workloads.platform.job_disruption_budget import JobDisruptionBudgetChart

__all__ = ["MpiOperator"]


class MpiOperator(Construct):
    """The MPIJob resource definition, and the controller that runs such jobs.

    Attributes:
        definition: The resource definition.
        operator: Permissions and Deployment of the controller, and the PodDisruptionBudget by which an update of nodes
            waits for the jobs of the namespace `default` that hold theirs; `Namespaces` has that of the others.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: Cluster,
        gang_scheduler: str | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        """Install the operator.

        Args:
            cluster: The cluster that runs the jobs: ours or one of `aws_eks_v2`.
            gang_scheduler: Scheduler that starts all workers of a job together or not at all: `volcano`, or the name
                of one with the coscheduling plugin. Install it in the cluster. Default: none.
            mirror: ECR registry with a copy of the image. Default: the operator's registry.

        Raises:
            InputError: The cluster has an operator from another construct, no scheduler has such a name, or `mirror` is
                not an ECR registry.
        """
        super().__init__(scope, id)
        own(self, cluster, "MPI operator")
        after_node_addons(self, cluster)
        after_admission(self, cluster)
        charts = cdk8s.App()
        definition = MpiJobDefinitionChart(charts, "Definition")
        operator = MpiOperatorChart(charts, "Operator", gang_scheduler=gang_scheduler, mirror=mirror)
        self.definition = apply_manifest(self, "Definition", cluster=cluster, documents=definition.to_json())
        budget = JobDisruptionBudgetChart(charts, "DisruptionBudget")
        documents = [*operator.to_json(), *budget.to_json()]
        self.operator = apply_manifest(self, "Operator", cluster=cluster, documents=documents)
        self.operator.node.add_dependency(self.definition)
