"""The PodDisruptionBudget by which an update of nodes waits for the jobs on them."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.nodes import HOLD_LABEL
from training_workloads.platform.volumes import DEFAULT_NAMESPACE

__all__ = ["JobDisruptionBudgetChart"]

_NAME = "training-jobs"

# More pods than a namespace has, so that none of them can be missed. Kubernetes takes neither a share nor
# `maxUnavailable` for the pods of an MPIJob, because it does not know their number
# (https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors).
_ALL = 1_000_000


class JobDisruptionBudgetChart(cdk8s.Chart):
    """A budget for a namespace that forbids to evict running pods with the label `training-cluster/hold: "true"`.

    Jobs of this project have it where they name On-Demand capacity, and a manifest of another origin that sets it is
    held too. A budget cannot see where a pod runs: one that held every job would hold those on Spot capacity or in a
    Capacity Block as well, whose node goes all the same, without the eviction that is the signal to save a checkpoint.
    Pods that are not ready can be evicted, such as those of a node that fails.
    """

    def __init__(self, scope: Construct, id: str, *, namespace: str = DEFAULT_NAMESPACE) -> None:
        """Define the chart.

        Args:
            namespace: Namespace of the jobs.
        """
        super().__init__(scope, id)
        k8s.KubePodDisruptionBudget(
            self,
            "Resource",
            metadata=k8s.ObjectMeta(name=_NAME, namespace=namespace),
            spec=k8s.PodDisruptionBudgetSpec(
                min_available=k8s.IntOrString.from_number(_ALL),
                selector=k8s.LabelSelector(match_labels={HOLD_LABEL: "true"}),
                unhealthy_pod_eviction_policy="AlwaysAllow",
            ),
        )
