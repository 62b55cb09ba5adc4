"""The PodDisruptionBudget by which an update of nodes waits for the jobs on them."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.nodes import EVICTABLE_LABEL
from training_workloads.mpijob.spec import JOB_ROLE_LABEL
from training_workloads.platform.static_volume import DEFAULT_NAMESPACE

__all__ = ["JobDisruptionBudgetChart"]

_NAME = "training-jobs"

# More pods than a namespace has, so that none of them can be missed. Kubernetes takes neither a share nor
# `maxUnavailable` for the pods of an MPIJob, because it does not know their number
# (https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors).
_ALL = 1_000_000


class JobDisruptionBudgetChart(cdk8s.Chart):
    """A budget for a namespace that forbids to evict the running pods of a training job.

    Pods that are not ready can be evicted, such as those of a node that fails, and so can the pods of jobs on Spot
    capacity or a Capacity Block: their node goes whatever a budget says, and the eviction is the signal to save a
    checkpoint.
    """

    def __init__(self, scope: Construct, id: str, *, namespace: str = DEFAULT_NAMESPACE) -> None:
        """Define the chart.

        Args:
            scope: A cdk8s app, or any construct for embedding.
            id: Id in the scope.
            namespace: Namespace of the jobs.
        """
        super().__init__(scope, id)
        running = k8s.LabelSelectorRequirement(key=JOB_ROLE_LABEL, operator="Exists")
        held = k8s.LabelSelectorRequirement(key=EVICTABLE_LABEL, operator="DoesNotExist")
        k8s.KubePodDisruptionBudget(
            self,
            "Resource",
            metadata=k8s.ObjectMeta(name=_NAME, namespace=namespace),
            spec=k8s.PodDisruptionBudgetSpec(
                min_available=k8s.IntOrString.from_number(_ALL),
                selector=k8s.LabelSelector(match_expressions=[running, held]),
                unhealthy_pod_eviction_policy="AlwaysAllow",
            ),
        )
