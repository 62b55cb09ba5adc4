"""The constructs of MPIJobs: any, an isolated one, and that of Horovod; their import starts Node.js."""

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.mpijob.api import API_VERSION, JOB_NAME_LABEL, KIND
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.validation import InputError, Problem

if TYPE_CHECKING:
    from training_workloads.jobs.nccl_test_job import NcclTestJobSpec

__all__ = ["HorovodJob", "IsolatedMpiJob", "JobNetworkPolicy", "MpiJob", "check_kind"]


class MpiJob(cdk8s.ApiObject):
    """An MPIJob in a chart.

    Attributes:
        spec: What it was made from.
    """

    def __init__(self, scope: Construct, id: str, *, spec: MpiJobSpec) -> None:
        """Define the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        check_kind(spec, MpiJobSpec)
        metadata = cdk8s.ApiObjectMetadata(
            name=spec.name,
            namespace=spec.namespace,
            labels=spec.labels or None,
            annotations=spec.annotations or None,
        )
        super().__init__(scope, id, api_version=API_VERSION, kind=KIND, metadata=metadata)
        self.spec = spec
        self.add_json_patch(cdk8s.JsonPatch.add("/spec", spec.to_wire()))


class JobNetworkPolicy(Construct):
    """A NetworkPolicy with which only the pods of one job reach each other.

    One for each job, because a policy cannot select "the same value of a label". Within the job every port is open: ssh
    on port 2222 starts the ranks, and MPI, Gloo and NCCL then choose their ports. What the pods themselves connect to
    (DNS, S3, file systems) stays open; so do the kubelet's probes, which come from the pod's node. EFA traffic bypasses
    the kernel and with it every policy: the security group is its border.

    The cluster must enforce policies; otherwise this one has no effect. `TrainingCluster` turns the enforcement of the
    VPC CNI on, which AWS documents for pods of Deployments and the like; for the pods of an MPIJob it was not tried
    (https://docs.aws.amazon.com/eks/latest/userguide/network-policies-troubleshooting.html).

    Attributes:
        policy: The NetworkPolicy.
    """

    def __init__(self, scope: Construct, id: str, *, job_name: str, namespace: str | None = None) -> None:
        """Define the policy.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope.
            job_name: Name of the job, and of the policy.
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


_Spec = TypeVar("_Spec", bound="HorovodJobSpec | NcclTestJobSpec")


class IsolatedMpiJob(Construct, Generic[_Spec]):
    """An MPIJob in a chart, with its NetworkPolicy.

    Attributes:
        kind: The spec of a job of this kind.
        spec: What the job was made from.
        mpi_job: The MPIJob.
        network_policy: Keeps other pods from those of the job.
    """

    kind: ClassVar[type]

    def __init__(self, scope: Construct, id: str, *, spec: _Spec) -> None:
        """Define the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        check_kind(spec, self.kind)
        super().__init__(scope, id)
        self.spec = spec
        self.mpi_job = MpiJob(self, "Resource", spec=spec.mpi_job)
        self.network_policy = JobNetworkPolicy(self, "NetworkPolicy", job_name=spec.name, namespace=spec.namespace)


class HorovodJob(IsolatedMpiJob[HorovodJobSpec]):
    """A Horovod job in a chart, with its NetworkPolicy."""

    kind = HorovodJobSpec


def check_kind(spec: Any, kind: type) -> None:
    """Reject the spec of another kind of job.

    Raises:
        InputError: `spec` is not of this kind.
    """
    # A subclass is another kind: an elastic job's spec is a Horovod job's, with another launcher.
    if type(spec) is not kind:
        raise InputError(Problem(path=("spec",), given=spec, fix=f"give a {kind.__name__}"))
