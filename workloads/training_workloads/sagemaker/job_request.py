"""From a job to a CreateTrainingJob request of SageMaker.

The fields: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html (read 2026-11-23).
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.sagemaker_types import EFA_IN_TRAINING_JOBS, SAGEMAKER_PREFIX, sagemaker_type
from training_workloads.jobs.gpu_job import GpuJobSpec
from training_workloads.jobs.rank_environment import rank_environment, torch_environment
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.volumes import RUNS_DIRECTORY
from training_workloads.jobs.worker_resources import WorkerResources, worker_resources
from training_workloads.mpijob.api import DAY_SECONDS
from training_workloads.sagemaker.container_program import (
    CHECKPOINTS,
    DATA_CHANNEL,
    ContainerProgram,
    container_program,
    is_file,
    runs_on_sagemaker,
)
from training_workloads.sagemaker.data_source import DataSource, InputMode, data_options, data_source
from training_workloads.sagemaker.log_metrics import metric_definitions
from training_workloads.sagemaker.place import JOB_TAG, Place
from training_workloads.sagemaker.request_model import model_problems
from training_workloads.sagemaker.training_jobs import NAME
from training_workloads.validation import MISSING, Problem, Problems, at_least, check, enforce, matches

__all__ = ["SageMakerJob", "training_job_request"]

_NAME_RULE = "letters, digits and '-', at most 63, without '-' at the ends"

# The image's address is short enough with a digest only if the repository's name is; the API's limit is 255.
_DIGEST = r".+@sha256:[a-f0-9]{64}"

# `KEY` in training/pods/host_reports.py.
_REPORT_KEY = "TRAINING_REPORT_KEY"

# Beside the runs, what SageMaker copies to S3 at the end of each job.
_OUTPUTS = "output"

_LONGEST_ARGUMENT = 256
_MOST_ARGUMENTS = 100
_MOST_RUNTIME_SECONDS = 28 * DAY_SECONDS
_MOST_RETRIES = 30

# The disk of a type without its own: ImageNet's records take 150 GB (derived, docs/jobs/resnet50.md), and what is not
# copied leaves checkpoints only.
_COPIED_GB = 500
_OTHER_GB = 100

# A gp2 volume's (https://docs.aws.amazon.com/sdk-for-kotlin/api/latest/ec2/
# aws.sdk.kotlin.services.ec2.model/-launch-template-ebs-block-device-request/volume-size.html, read 2026-11-23).
_MOST_VOLUME_GB = 16384

# The entry point sets the first to the interface that SageMaker names. The second is for ranks that MPI connects, and
# on SageMaker Gloo does (docs/adr/0024-each-host-of-sagemaker-starts-its-own-ranks.md).
_NOT_ON_SAGEMAKER = ("NCCL_SOCKET_IFNAME", "HOROVOD_HIERARCHICAL_ALLREDUCE")


@dataclass(frozen=True, kw_only=True)
class SageMakerJob:
    """A job as SageMaker runs it: on whole instances, one rank per GPU that the job uses.

    Attributes:
        spec: The job, as a cluster runs it.
        name: Name of the training job; an account and region has each only once.
        instances: Instances, with all GPUs of each. Default: as few as have room for the job's ranks.
        data: Folder of the data set in S3. Default: the same path on the stack's Lustre, else in its bucket.
        lustre: The same on FSx for Lustre: `fs-…:/<mount name>/folder`.
        efs: The same on EFS: `fs-…:/folder`.
        input_mode: How the data set comes from S3: `File` copies it first, `FastFile` reads on demand. Default: from
            the stack's Lustre, else `File`.
        spot: Whether it runs on Spot capacity. Default: where the job does on a cluster.
        max_wait_seconds: For Spot, the longest time in all, waiting and running. Default: a day more than it may run.
        resume: Name of the ended training job that it continues. Default: none.
        resume_folder: Folder in S3 of the run that it continues, as the job before has it. Default: a new run.
        volume_gb: Size of each instance's disk, for types without an instance store. Default: 500 GB where data is
            copied from S3, else 100.
        encrypt_traffic: Whether SageMaker encrypts the traffic between the hosts, by IPsec
            (https://docs.aws.amazon.com/sagemaker/latest/dg/train-encrypt.html, read 2026-11-28). EFA's is not IP, so
            NCCL takes TCP.
        network_isolation: Whether the containers reach the job's other hosts alone; SageMaker copies data and results
            (EnableNetworkIsolation in the API's reference, read 2026-11-28).
    """

    spec: GpuJobSpec
    name: str
    instances: int | None = None
    data: str | None = None
    lustre: str | None = None
    efs: str | None = None
    input_mode: InputMode | None = None
    spot: bool | None = None
    max_wait_seconds: int | None = None
    resume: str | None = None
    resume_folder: str | None = None
    volume_gb: int | None = None
    encrypt_traffic: bool = False
    network_isolation: bool = False

    def __post_init__(self) -> None:
        """Check everything that does not depend on the place."""
        # A kind of job that SageMaker cannot run has other fields.
        enforce(self.spec, (runs_on_sagemaker,))
        enforce(self, _RULES)

    @cached_property
    def program(self) -> ContainerProgram:
        """The program of the container."""
        return container_program(self.spec)

    @property
    def is_spot(self) -> bool:
        """Whether it runs on Spot capacity."""
        return self.spec.scheduling.capacity_type == "SPOT" if self.spot is None else self.spot

    @property
    def longest_wait(self) -> int:
        """Seconds that a job on Spot capacity may take, waiting and running."""
        return self.spec.deadline_seconds + DAY_SECONDS if self.max_wait_seconds is None else self.max_wait_seconds

    @cached_property
    def hosts(self) -> tuple[int, int]:
        """Instances, and ranks of each."""
        gpus = self.spec.instance.gpus
        if self.instances is not None:
            return self.instances, gpus
        ranks = self.spec.world_size
        hosts = next(count for count in range(-(-ranks // gpus), ranks + 1) if ranks % count == 0)
        return hosts, ranks // hosts

    @property
    def named_source(self) -> DataSource | None:
        """Where the user says that the data set is; None where they do not say it."""
        return data_source(data=self.data, lustre=self.lustre, efs=self.efs, mode=self.input_mode or "File")

    def sources(self, place: Place) -> dict[str, DataSource]:
        """Return where the data of each channel is."""
        inputs = self.program.inputs.items()
        found = {channel: _mirrored(channel, path, place, self.input_mode) for channel, path in inputs}
        return found | ({DATA_CHANNEL: self.named_source} if self.named_source else {})

    def run_folder(self, place: Place) -> str:
        """Return the folder in S3 with the run's checkpoints, curves and results; empty if the program writes none."""
        if not self.program.writes:
            return ""
        # Without the slash SageMaker copies the runs whose names begin like this one into the job's folder too
        # (https://github.com/syne-tune/syne-tune/pull/363, read 2026-11-24).
        return f"{(self.resume_folder or _run_folder(place, self.name)).rstrip('/')}/"

    def environment(self) -> dict[str, str]:
        """Return the variables of the ranks: those of a worker that has a whole node."""
        hosts, processes = self.hosts
        instance = self.spec.instance
        with_efa = self.spec.resources.efa_interfaces and not self.encrypt_traffic
        whole = worker_resources(instance, efa_interfaces=None if with_efa else 0)
        resources: WorkerResources = replace(whole, gpus=processes)
        derived = (torch_environment if isinstance(self.spec, TorchElasticJobSpec) else rank_environment)(
            resources, hosts
        )
        chosen = set(_NOT_ON_SAGEMAKER)
        if resources.efa_interfaces and instance.name not in EFA_IN_TRAINING_JOBS:
            # NCCL takes EFA where it finds it: to demand it could end a job for which TCP is all there is.
            chosen |= {"FI_PROVIDER", "NCCL_NET"}
        return {name: value for name, value in derived.items() if name not in chosen} | self.spec.environment


def _run_folder(place: Place, run: str) -> str:
    """Return the folder of a run in S3: where a cluster exports it to."""
    return f"s3://{place.bucket}/{RUNS_DIRECTORY}/{run}"


def training_job_request(job: SageMakerJob, place: Place) -> dict[str, Any]:
    """Return the CreateTrainingJob request of a job.

    Raises:
        InputError: The place has not what the job needs, or SageMaker would reject the request.
    """
    check(_network(job, place), _channels(job, place), _readable(job, place))
    request = {
        "TrainingJobName": job.name,
        "AlgorithmSpecification": _container(job),
        "RoleArn": place.role,
        "HyperParameters": job.program.hyperparameters,
        "InputDataConfig": [source.channel(name) for name, source in job.sources(place).items()],
        "OutputDataConfig": _output(place),
        "ResourceConfig": _instances(job, place),
        "VpcConfig": _vpc(place),
        "StoppingCondition": _limits(job),
        "EnableManagedSpotTraining": job.is_spot,
        "CheckpointConfig": _checkpoints(job, place),
        # A job's hosts sign what they report to each other: hosts of other jobs can reach them.
        "Environment": {**job.environment(), _REPORT_KEY: secrets.token_hex(32)},
        "RetryStrategy": _retries(job.spec),
        "Tags": [{"Key": JOB_TAG, "Value": place.job_tag}] if place.job_tag else [],
        **_isolation(job),
    }
    request = {name: value for name, value in request.items() if value not in ({}, [])}
    check(model_problems(request))
    return request


def _output(place: Place) -> dict[str, str]:
    """Return where what is in /opt/ml/output/data and /opt/ml/model at the end goes, as files instead of archives."""
    key = {"KmsKeyId": place.key} if place.key else {}
    return {"S3OutputPath": _run_folder(place, _OUTPUTS), "CompressionType": "NONE", **key}


def _container(job: SageMakerJob) -> dict[str, Any]:
    return {
        "TrainingImage": job.spec.image,
        "TrainingInputMode": "File",
        "ContainerEntrypoint": job.program.entry_point,
        "ContainerArguments": job.program.arguments(job.hosts[1]),
        "MetricDefinitions": metric_definitions(),
    }


def _instances(job: SageMakerJob, place: Place) -> dict[str, Any]:
    name = SAGEMAKER_PREFIX + job.spec.instance_type
    return {"InstanceType": name, "InstanceCount": job.hosts[0], **_volume(job, place)}


def _limits(job: SageMakerJob) -> dict[str, int]:
    waiting = {"MaxWaitTimeInSeconds": job.longest_wait} if job.is_spot else {}
    return {"MaxRuntimeInSeconds": job.spec.deadline_seconds, **waiting}


def _checkpoints(job: SageMakerJob, place: Place) -> dict[str, str]:
    """Return the folder that SageMaker keeps in S3; TensorBoard's events are in it, so that they are there at once."""
    folder = job.run_folder(place)
    return {"S3Uri": folder, "LocalPath": CHECKPOINTS} if folder else {}


def _mirrored(channel: str, path: str, place: Place, mode: InputMode | None) -> DataSource:
    """Return where the stack has a path of the cluster's file system: its bucket mirrors it, and so does its Lustre."""
    one_file = is_file(channel, path)
    # The user's choice is about the data set: a model, say, is read as a whole before the first step.
    mode = mode if channel == DATA_CHANNEL else None
    if place.lustre_folder and mode is None:
        folder = path.rpartition("/")[0] if one_file else path
        return DataSource.file_system_folder("FSxLustre", f"{place.lustre_folder}/{folder}")
    # A prefix without a slash at its end is that of an object, or of every folder that begins like that.
    return DataSource.s3(f"s3://{place.bucket}/{path}{'' if one_file else '/'}", mode or "File")


def _vpc(place: Place) -> dict[str, list[str]]:
    if not place.subnets:
        return {}
    return {"SecurityGroupIds": list(place.security_groups), "Subnets": list(place.subnets)}


def _volume(job: SageMakerJob, place: Place) -> dict[str, int]:
    """Return the size of the disk; SageMaker uses the one of an instance that has its own."""
    if job.spec.instance.local_nvme_gb:
        return {}
    copied = any(source.is_copied for source in job.sources(place).values())
    default = _COPIED_GB if copied else _OTHER_GB
    return {"VolumeSizeInGB": default if job.volume_gb is None else job.volume_gb}


def _isolation(job: SageMakerJob) -> dict[str, bool]:
    chosen = {
        "EnableInterContainerTrafficEncryption": job.encrypt_traffic,
        "EnableNetworkIsolation": job.network_isolation,
    }
    return {name: value for name, value in chosen.items() if value}


def _retries(spec: GpuJobSpec) -> dict[str, int]:
    """Return how often SageMaker starts the job again after an internal failure, such as of an instance."""
    limit = getattr(spec, "backoff_limit", 0)
    return {"MaximumRetryAttempts": min(limit, _MOST_RETRIES)} if limit else {}


def _network(job: SageMakerJob, place: Place) -> Problems:
    for source in job.sources(place).values():
        if source.needs_vpc and not place.subnets:
            allowed = f"a job reaches {source.file_system} only in its VPC"
            fix = "give the subnets and a security group of that VPC, or a stack whose outputs have them"
            yield Problem(path=("subnets",), given=MISSING, allowed=allowed, fix=fix)
            return


def _channels(job: SageMakerJob, place: Place) -> Problems:
    known = job.sources(place)
    for channel in sorted(job.program.channels - known.keys()):
        allowed = f"the program reads the channel {channel}, which has no place"
        fix = "give --data, --lustre or --efs" if channel == DATA_CHANNEL else "give a path of the file system instead"
        yield Problem(path=("command",), given=" ".join(job.spec.command), allowed=allowed, fix=fix)


def _readable(job: SageMakerJob, place: Place) -> Problems:
    """Reject a folder of the stack's bucket that the stack's role may not read."""
    if not place.data_prefix:
        return
    readable = [f"s3://{place.bucket}/{prefix}/" for prefix in (place.data_prefix, RUNS_DIRECTORY)]
    for channel, source in job.sources(place).items():
        if source.path.startswith(f"s3://{place.bucket}/") and not source.path.startswith(tuple(readable)):
            allowed = f"the stack's role reads only {' and '.join(readable)}"
            fix = f"give a folder in {readable[0]}, or change sagemaker.data_prefix in cluster.yaml and deploy it"
            path = "data" if channel == DATA_CHANNEL else channel
            yield Problem(path=(path,), given=source.path, allowed=allowed, fix=fix)


def _name(job: SageMakerJob) -> Problems:
    yield from matches("name", job.name, NAME, _NAME_RULE)
    if job.name == _OUTPUTS:
        allowed = f"{RUNS_DIRECTORY}/{_OUTPUTS} of the bucket has the results of all jobs"
        yield Problem(path=("name",), given=job.name, allowed=allowed, fix="give another name")


def _image(job: SageMakerJob) -> Problems:
    if not isinstance(job.spec.image, str) or not _is_digest(job.spec.image):
        allowed = "it has no digest, by which SageMaker and the record of the run would know what ran"
        fix = "push it with 'trainctl image push', or give <repository>@sha256:<digest>"
        yield Problem(path=("image",), given=job.spec.image, allowed=allowed, fix=fix)


def _is_digest(image: str) -> bool:
    return not list(matches("image", image, _DIGEST, ""))


def _interfaces(job: SageMakerJob) -> Problems:
    number = job.spec.efa_interfaces
    if number and number < job.spec.instance.efa_interfaces:
        allowed = "a training job has all interfaces of its instances"
        yield Problem(path=("efa_interfaces",), given=number, allowed=allowed, fix="omit it, or give 0 for TCP")


def _encryption(job: SageMakerJob) -> Problems:
    if job.encrypt_traffic and job.spec.efa_interfaces:
        allowed = "the job demands EFA, whose traffic SageMaker does not encrypt"
        fix = f"omit it, or omit efa_interfaces ({job.spec.efa_interfaces}) of the job: NCCL then takes TCP"
        yield Problem(path=("encrypt_traffic",), given=True, allowed=allowed, fix=fix)


def _arguments(job: SageMakerJob) -> Problems:
    yield from job.program.problems
    words = job.program.arguments(1)
    for word in words:
        if len(word) > _LONGEST_ARGUMENT:
            allowed = f"it has {len(word)} characters, and an argument on SageMaker has at most {_LONGEST_ARGUMENT}"
            fix = "write it as the value of an option, of which it takes 2,500, or read it from a file"
            yield Problem(path=("command",), given=word, allowed=allowed, fix=fix)
    if len(words) > _MOST_ARGUMENTS:
        allowed = f"{len(words)} words remain, and SageMaker takes at most {_MOST_ARGUMENTS}"
        fix = "give options as --name value, which become hyperparameters"
        yield Problem(path=("command",), given=f"{len(words)} words", allowed=allowed, fix=fix)


def _data(job: SageMakerJob) -> Problems:
    options = {"data": job.data, "lustre": job.lustre, "efs": job.efs, "input_mode": job.input_mode}
    yield from data_options(data=job.data, lustre=job.lustre, efs=job.efs, mode=job.input_mode)
    for name, value in options.items():
        if value is not None and not job.program.reads(DATA_CHANNEL):
            allowed = f"the program of {job.spec.name} reads no data set: it has no --data-dir on a shared file system"
            yield Problem(path=(name,), given=value, allowed=allowed, fix="omit it")


def _spot(job: SageMakerJob) -> Problems:
    if job.max_wait_seconds is not None and not job.is_spot:
        allowed = "only a job on Spot capacity waits for it"
        yield Problem(path=("max_wait",), given=job.max_wait_seconds, allowed=allowed, fix="omit it, or give --spot")
    if not job.is_spot:
        return
    if not job.program.writes:
        allowed = f"the program writes nothing to {CHECKPOINTS}: an interruption would lose all that it has learned"
        fix = "give it an --output-dir on the shared file system, where it saves and finds its checkpoints"
        yield Problem(path=("spot",), given=True, allowed=allowed, fix=fix)
    if job.longest_wait < job.spec.deadline_seconds:
        allowed = f"the job may run for {job.spec.deadline_seconds} seconds, and both are counted together"
        fix = "give a longer time, or a shorter --max-runtime"
        yield Problem(path=("max_wait",), given=job.longest_wait, allowed=allowed, fix=fix, related=(("max_runtime",),))


def _max_cost(job: SageMakerJob) -> Problems:
    given = getattr(job.spec, "max_cost", None)
    if given is not None:
        allowed = "SageMaker has other prices, and no launcher that counts them"
        yield Problem(path=("max_cost",), given=given, allowed=allowed, fix="omit it, and give --max-runtime")


def _volume_size(job: SageMakerJob) -> Problems:
    if job.volume_gb is None:
        return
    yield from at_least("volume_gb", job.volume_gb, 1, _MOST_VOLUME_GB)
    # Another rule reports an unknown type.
    instance = INSTANCE_TYPES.get(job.spec.instance_type)
    if instance and instance.local_nvme_gb:
        allowed = f"{instance.name} has an instance store of {instance.local_nvme_gb} GB, which SageMaker uses"
        yield Problem(path=("volume_gb",), given=job.volume_gb, allowed=allowed, fix="omit it")


def _resume(job: SageMakerJob) -> Problems:
    if job.resume is None:
        return
    yield from matches("resume", job.resume, NAME, _NAME_RULE)
    if not job.program.writes:
        allowed = f"the program has no folder in {CHECKPOINTS}, and would begin again"
        fix = "give it an --output-dir on the shared file system, where it finds its checkpoints"
        yield Problem(path=("resume",), given=job.resume, allowed=allowed, fix=fix)


_RULES: tuple[Callable[[SageMakerJob], Problems], ...] = (
    _name,
    _image,
    _interfaces,
    _encryption,
    _max_cost,
    lambda job: sagemaker_type(job.spec.instance_type),
    lambda job: at_least("instances", 1 if job.instances is None else job.instances, 1),
    lambda job: at_least("max_runtime", job.spec.deadline_seconds, 1, _MOST_RUNTIME_SECONDS),
    _arguments,
    _data,
    _spot,
    _volume_size,
    _resume,
)
