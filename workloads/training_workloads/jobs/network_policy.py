"""Who reaches the pods of a job over the network: the pods of the same job, and nobody else."""

from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.mpijob.spec import JOB_NAME_LABEL

__all__ = ["JobNetworkPolicy"]


class JobNetworkPolicy(Construct):
    """A NetworkPolicy that lets the pods of one MPIJob reach each other, and nobody else reach them.

    One for each job, because a policy cannot say "the same value of a label". Within the job every port is open: ssh on
    port 2222 starts the ranks, and MPI, Gloo and NCCL then choose ports of their own. What pods reach themselves (DNS,
    S3, file systems) stays open; so do the kubelet's probes, which come from the pod's own node. EFA traffic bypasses
    the kernel and with it every policy: there the security group is the border.

    The cluster must enforce policies; elsewhere this one is without effect and does no harm. `TrainingCluster` turns
    the enforcement of the VPC CNI on, which AWS documents for pods of Deployments and the like; for the pods of an
    MPIJob it was not tried (https://docs.aws.amazon.com/eks/latest/userguide/network-policies-troubleshooting.html).

    Attributes:
        policy: The NetworkPolicy.
    """

    def __init__(self, scope: Construct, id: str, *, job_name: str, namespace: str | None = None) -> None:
        """Defines the policy.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope.
            job_name: Name of the MPIJob, and of the policy.
            namespace: Namespace of the job. Default: that of the chart, or of `kubectl`.
        """
        super().__init__(scope, id)
        pods = k8s.LabelSelector(match_labels={JOB_NAME_LABEL: job_name})
        from_the_job = k8s.NetworkPolicyIngressRule(from_=[k8s.NetworkPolicyPeer(pod_selector=pods)])
        self.policy = k8s.KubeNetworkPolicy(
            self,
            "Resource",
            metadata=k8s.ObjectMeta(name=job_name, namespace=namespace),
            spec=k8s.NetworkPolicySpec(pod_selector=pods, policy_types=["Ingress"], ingress=[from_the_job]),
        )
