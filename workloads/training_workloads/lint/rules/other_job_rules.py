"""Rules on PyTorchJobs, TFJobs, JobSets, Jobs and TrainJobs themselves: what their API or operator rejects."""

import re
from collections.abc import Iterator
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error
from training_workloads.manifests.other_workloads import JobSetView, JobView, ReplicaSpecsView, TrainJobView
from training_workloads.manifests.values import is_placeholder, mapping, names_placeholder, sequence, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.names import DNS_1035_CHARACTERS, DNS_LABEL_LENGTH
from training_workloads.validation import known_names

_JOB_VALIDATION = "https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/batch/validation/validation.go"

_CONTAINER_NAMES = {"PyTorchJob": "pytorch", "TFJob": "tensorflow"}


@error(
    "The operator rejects the job "
    "([webhook](https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/webhooks/pytorch/pytorchjob_webhook.go))"
)
def framework_container(workload: WorkloadView) -> Iterator[Found]:
    """A role of a PyTorchJob without a container `pytorch`, or of a TFJob without `tensorflow`."""
    wanted = _CONTAINER_NAMES.get(workload.kind)
    for pods in workload.groups if wanted else ():
        names = [container.content.get("name") for container in pods.containers]
        if names and wanted not in names and not names_placeholder(*names):
            path = (*pods.containers[0].path, "name")
            problem = f"is {names[0]!r}, and the operator rejects a {pods.role} without a container named {wanted}"
            yield Found(path, problem, f"name the container of the ranks {wanted}")


@error(
    "The operator rejects the job "
    "([webhook](https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/webhooks/pytorch/pytorchjob_webhook.go))"
)
def one_master(workload: WorkloadView) -> Iterator[Found]:
    """Another number of masters than one."""
    for pods in workload.groups if isinstance(workload, ReplicaSpecsView) else ():
        if pods.role in ("Master", "Chief") and pods.replicas is not None and pods.replicas != 1:
            path = (*pods.template_path[:-1], "replicas")
            problem = f"is {pods.replicas}, but a job has one {pods.role}"
            yield Found(path, problem, "write 1, and give the others to Worker")


@error(f"The default, Always, is not for Jobs, and the Job is rejected ([ValidateJobSpec]({_JOB_VALIDATION}))")
def job_restart_policy(workload: WorkloadView) -> Iterator[Found]:
    """A Job whose pods do not have `restartPolicy: Never` or `OnFailure`."""
    for job in workload.jobs if isinstance(workload, JobView) else ():
        policy = job.pods.pod.get("restartPolicy")
        # The default in a JobSet is OnFailure.
        if policy == "Always" or (policy is None and workload.kind == "Job" and job.pods.pod):
            given = "is missing, and the default is Always" if policy is None else "is Always"
            problem = f"{given}, which is not for Jobs"
            yield Found((*job.pods.pod_path, "restartPolicy"), problem, "write Never or OnFailure")


@error(f"The API server rejects the Job ([ValidateJobSpec]({_JOB_VALIDATION}))")
def indexed_without_completions(workload: WorkloadView) -> Iterator[Found]:
    """An Indexed Job without a number of completions."""
    for job in workload.jobs if isinstance(workload, JobView) else ():
        if job.spec.get("completionMode") == "Indexed" and job.spec.get("completions") is None:
            problem = "is missing, and an Indexed Job needs it"
            yield Found((*job.path, "completions"), problem, "give the number of pods, as parallelism has it")


@error(f"The API server rejects the Job ([ValidateJobSpec]({_JOB_VALIDATION}))")
def completion_mode(workload: WorkloadView) -> Iterator[Found]:
    """A completion mode that does not exist."""
    modes = ("Indexed", "NonIndexed")
    for job in workload.jobs if isinstance(workload, JobView) else ():
        mode = job.spec.get("completionMode")
        if isinstance(mode, str) and mode not in modes and not is_placeholder(mode):
            yield Found((*job.path, "completionMode"), f"is {mode!r}, and is rejected", known_names(mode, modes))


@error(
    "The JobSet's webhook rejects it "
    "([webhook](https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/pkg/webhooks/jobset_webhook.go))"
)
def unknown_replicated_job(workload: WorkloadView) -> Iterator[Found]:
    """A policy or a dependency of a JobSet that names a replicated job which does not exist."""
    if not isinstance(workload, JobSetView):
        return
    known = [job.name for job in workload.jobs]
    for path, name in _named_jobs(workload):
        if isinstance(name, str) and name not in known and not names_placeholder(name, *known) and known:
            problem = f"is {name!r}, which is no replicated job of this JobSet"
            yield Found((*workload.set_path, *path), problem, known_names(name, known))


def _named_jobs(workload: JobSetView) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    spec = workload.set_spec
    for number, name in enumerate(sequence(mapping(spec.get("successPolicy")).get("targetReplicatedJobs"))):
        yield ("successPolicy", "targetReplicatedJobs", number), name
    for at, rule in enumerate(map(mapping, sequence(mapping(spec.get("failurePolicy")).get("rules")))):
        for number, name in enumerate(sequence(rule.get("targetReplicatedJobs"))):
            yield ("failurePolicy", "rules", at, "targetReplicatedJobs", number), name
    for at, job in enumerate(map(mapping, sequence(spec.get("replicatedJobs")))):
        for number, other in enumerate(map(mapping, sequence(job.get("dependsOn")))):
            yield ("replicatedJobs", at, "dependsOn", number, "name"), other.get("name")


@error(
    "The JobSet's webhook rejects it: pods are named `<set>-<job>-<n>-<index>` "
    "([webhook](https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/pkg/webhooks/jobset_webhook.go))"
)
def job_set_name(workload: WorkloadView) -> Iterator[Found]:
    """A JobSet whose pods' names would be longer than 63 characters."""
    name = workload.metadata.get("name")
    if workload.kind != "JobSet" or not isinstance(name, str) or is_placeholder(name, capitals=True):
        return
    for job in workload.jobs if isinstance(workload, JobSetView) else ():
        last = max((whole(job.spec.get("completions")) or job.parallelism or 1) - 1, 0)
        suffix = f"-{job.name}-{max((job.copies or 1) - 1, 0)}-{last}"
        if len(name) + len(suffix) > DNS_LABEL_LENGTH:
            problem = f"has {len(name)} characters, and with '{suffix}' after it a pod's name has more than 63"
            yield Found(
                ("metadata", "name"), problem, f"use {max(DNS_LABEL_LENGTH - len(suffix), 1)} characters or fewer"
            )
            return


@error(
    "The webhook rejects the JobSet: a part of the pods' names is no DNS label ([webhook]("
    "https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/pkg/webhooks/jobset_webhook.go))"
)
def replicated_job_name(workload: WorkloadView) -> Iterator[Found]:
    """The name of a replicated job in a form that names of pods do not have, or two jobs of one name."""
    seen: set[str] = set()
    for job in workload.jobs if isinstance(workload, JobSetView) else ():
        # The last steps are the template and its spec.
        path = (*job.path[:-2], "name")
        if is_placeholder(job.name, capitals=True) or job.name == "None":
            continue
        if not re.fullmatch(DNS_1035_CHARACTERS, job.name):
            rule = "use lower-case letters, digits and '-', a letter first"
            yield Found(path, f"is {job.name!r}, and is rejected", rule)
        elif job.name in seen:
            yield Found(path, f"is {job.name!r}, as another job's of the set, and is rejected", "give it another name")
        seen.add(job.name)


_WITH_OWN_VARIABLES = ("node", "dataset-initializer", "model-initializer")


@error(
    "The webhook rejects the TrainJob: their variables are in spec.trainer and spec.initializer ([API]("
    "https://github.com/kubeflow/trainer/blob/v2.1.0/pkg/apis/trainer/v1alpha1/trainjob_types.go))"
)
def patched_variables(workload: WorkloadView) -> Iterator[Found]:
    """Variables of the trainer's or an initializer's container in a patch of the pods."""
    path, patch = workload.patch if isinstance(workload, TrainJobView) else ((), {})
    for field in ("containers", "initContainers"):
        for number, container in enumerate(map(mapping, sequence(mapping(patch).get(field)))):
            name = container.get("name")
            if name in _WITH_OWN_VARIABLES and container.get("env"):
                where = "spec.trainer.env" if name == "node" else "spec.initializer"
                problem = f"is of the container {name}, and the TrainJob is rejected"
                yield Found((*path, field, number, "env"), problem, f"move it to {where}")


@error(
    "torchrun starts that many ranks: PyTorch stops with invalid device ordinal ([API]("
    "https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/apis/kubeflow.org/v1/pytorch_types.go))"
)
def processes_of_node(workload: WorkloadView) -> Iterator[Found]:
    """More processes for each pod of a PyTorchJob than the pod has GPUs."""
    given = str(workload.spec.get("nprocPerNode")) if workload.kind == "PyTorchJob" else ""
    for pods in workload.groups if given.isdecimal() and len(given) < len("100000") else ():
        gpus = pods.total(GPU_RESOURCE)
        # The option of torchrun comes before the operator's variable.
        has_option = any(_NPROC.search(word) for one in pods.containers for word in one.argv)
        if gpus and gpus == gpus.to_integral_value() and int(given) > gpus and not has_option:
            problem = f"is {given}, but a pod of the {pods.role} has {gpus} GPUs"
            yield Found(("spec", "nprocPerNode"), problem, f'write "{gpus}"')
            return


_NPROC = re.compile(r"--nproc[-_]per[-_]node")
