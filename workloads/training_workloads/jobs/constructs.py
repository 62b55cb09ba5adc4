"""The constructs of jobs, which render a spec into objects of Kubernetes; their import starts Node.js."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.kinds import JobSpec
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.jobs.rendezvous_store import STORE_SUFFIX
from training_workloads.jobs.stage_data_job import StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoardSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.train_job import TRAIN_JOB, TRAIN_JOB_API
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.mpijob.spec import API_VERSION, JOB_NAME_LABEL, KIND
from training_workloads.validation import InputError, Problem

__all__ = [
    "ElasticHorovodJob",
    "HorovodJob",
    "IsolatedMpiJob",
    "JobNetworkPolicy",
    "MpiJob",
    "NcclTestJob",
    "StageDataJob",
    "TensorBoard",
    "TorchElasticJob",
    "define_job",
]

_API_VERSIONS = {
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Service": "v1",
    TRAIN_JOB: TRAIN_JOB_API,
}


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
        _check_kind(spec, MpiJobSpec)
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


_Spec = TypeVar("_Spec", bound=HorovodJobSpec | NcclTestJobSpec)


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
        _check_kind(spec, self.kind)
        super().__init__(scope, id)
        self.spec = spec
        self.mpi_job = MpiJob(self, "Resource", spec=spec.mpi_job)
        self.network_policy = JobNetworkPolicy(self, "NetworkPolicy", job_name=spec.name, namespace=spec.namespace)


class HorovodJob(IsolatedMpiJob[HorovodJobSpec]):
    """A Horovod job in a chart, with its NetworkPolicy."""

    kind = HorovodJobSpec


class ElasticHorovodJob(IsolatedMpiJob[ElasticHorovodJobSpec]):
    """An elastic Horovod job in a chart, with its NetworkPolicy."""

    kind = ElasticHorovodJobSpec


class NcclTestJob(IsolatedMpiJob[NcclTestJobSpec]):
    """A test of the network in a chart, with its NetworkPolicy."""

    kind = NcclTestJobSpec


class TorchElasticJob(Construct):
    """A job of torchrun in a chart: the Job, its store, their Services, and a NetworkPolicy; or a TrainJob with that.

    Attributes:
        spec: What the job was made from.
        job: The Job, or the TrainJob.
        network_policy: Keeps other pods from those of the job.
    """

    def __init__(self, scope: Construct, id: str, *, spec: TorchElasticJobSpec) -> None:
        """Define the objects.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        _check_kind(spec, TorchElasticJobSpec)
        super().__init__(scope, id)
        self.spec = spec
        labels = spec.scheduling.labels()
        self.job = _wire_object(
            self, "Resource", kind=spec.kind, name=spec.name, namespace=spec.namespace, spec=spec.job(), labels=labels
        )
        if spec.kind != TRAIN_JOB:
            self._define_rendezvous(spec)
        self.network_policy = JobNetworkPolicy(self, "NetworkPolicy", job_name=spec.name, namespace=spec.namespace)

    def _define_rendezvous(self, spec: TorchElasticJobSpec) -> None:
        store = spec.name + STORE_SUFFIX
        for child, kind, name, one in (
            ("Service", "Service", spec.name, spec.service()),
            ("Store", "Deployment", store, spec.store.deployment(spec.rendezvous, spec.pods)),
            ("StoreService", "Service", store, spec.store.service(spec.name)),
        ):
            _wire_object(self, child, kind=kind, name=name, namespace=spec.namespace, spec=one)


class StageDataJob(cdk8s.ApiObject):
    """The Kubernetes Job that stages a dataset, in a chart.

    Attributes:
        spec: What it was made from.
    """

    def __init__(self, scope: Construct, id: str, *, spec: StageDataJobSpec) -> None:
        """Define the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        _check_kind(spec, StageDataJobSpec)
        metadata = cdk8s.ApiObjectMetadata(name=spec.name, namespace=spec.namespace)
        super().__init__(scope, id, api_version="batch/v1", kind="Job", metadata=metadata)
        self.spec = spec
        self.add_json_patch(cdk8s.JsonPatch.add("/spec", spec.to_wire()))


class TensorBoard(Construct):
    """Deployment, Service and NetworkPolicy of a TensorBoard, in a chart.

    Attributes:
        spec: What it was made from.
    """

    def __init__(self, scope: Construct, id: str, *, spec: TensorBoardSpec) -> None:
        """Define the three objects.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: What it shows.
        """
        _check_kind(spec, TensorBoardSpec)
        super().__init__(scope, id)
        self.spec = spec
        for kind, wire in (
            ("Deployment", spec.deployment()),
            ("Service", spec.service()),
            ("NetworkPolicy", spec.network_policy()),
        ):
            name, namespace = spec.name, spec.namespace
            _wire_object(self, kind, kind=kind, name=name, namespace=namespace, spec=wire, labels=spec.labels)


def _check_kind(spec: Any, kind: type) -> None:
    """Reject the spec of another kind of job.

    Raises:
        InputError: `spec` is not of this kind.
    """
    # A subclass is another kind: an elastic job's spec is a Horovod job's, with another launcher.
    if type(spec) is not kind:
        raise InputError(Problem(path=("spec",), given=spec, fix=f"give a {kind.__name__}"))


def _wire_object(
    scope: Construct,
    id: str,
    *,
    kind: str,
    name: str,
    namespace: str | None,
    spec: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
) -> cdk8s.ApiObject:
    """Define an object.

    Args:
        scope: A chart, or a construct in one.
        id: Id in the scope.
        kind: Its kind.
        name: Its name.
        namespace: Its namespace; None for that of the chart, or of `kubectl`.
        spec: Its `spec`.
        labels: Its labels. Default: none.
    """
    metadata = cdk8s.ApiObjectMetadata(name=name, namespace=namespace, labels=labels or None)
    made = cdk8s.ApiObject(scope, id, api_version=_API_VERSIONS[kind], kind=kind, metadata=metadata)
    made.add_json_patch(cdk8s.JsonPatch.add("/spec", spec))
    return made


_CONSTRUCTS: dict[type, Any] = {
    HorovodJobSpec: HorovodJob,
    ElasticHorovodJobSpec: ElasticHorovodJob,
    TorchElasticJobSpec: TorchElasticJob,
    NcclTestJobSpec: NcclTestJob,
    StageDataJobSpec: StageDataJob,
    TensorBoardSpec: TensorBoard,
}


def define_job(scope: Construct, id: str, *, spec: JobSpec) -> Construct:
    """Define a job of any kind.

    Args:
        scope: A chart, or a construct in one.
        id: Id in the scope; the name in the cluster is `spec.name`.
        spec: The job.
    """
    construct: Construct = _CONSTRUCTS[type(spec)](scope, id, spec=spec)
    return construct
