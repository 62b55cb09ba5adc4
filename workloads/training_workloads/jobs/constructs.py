"""The constructs of the other jobs, and of a job of any kind; their import starts Node.js."""

from collections.abc import Mapping
from typing import Any

import cdk8s
from constructs import Construct

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.kinds import JobSpec
from training_workloads.jobs.mpi_constructs import HorovodJob, IsolatedMpiJob, JobNetworkPolicy, check_kind
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.jobs.rendezvous_store import STORE_SUFFIX
from training_workloads.jobs.stage_data_job import StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoardSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.train_job import TRAIN_JOB, TRAIN_JOB_API

__all__ = [
    "ElasticHorovodJob",
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
        check_kind(spec, TorchElasticJobSpec)
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
        check_kind(spec, StageDataJobSpec)
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
        check_kind(spec, TensorBoardSpec)
        super().__init__(scope, id)
        self.spec = spec
        for kind, wire in (
            ("Deployment", spec.deployment()),
            ("Service", spec.service()),
            ("NetworkPolicy", spec.network_policy()),
        ):
            name, namespace = spec.name, spec.namespace
            _wire_object(self, kind, kind=kind, name=name, namespace=namespace, spec=wire, labels=spec.labels)


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
