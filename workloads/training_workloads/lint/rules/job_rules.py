"""Rules on the MPIJob itself: what the operator rejects after the API server accepted the job, its start and its end.

https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/validation/validation.go
"""

import re
from collections.abc import Iterator
from typing import get_args

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import OPERATOR, OPERATOR_VALIDATION
from training_workloads.manifests.values import is_placeholder, whole
from training_workloads.mpijob.api import QUEUE_LABEL, LauncherCreationPolicy, RestartPolicy
from training_workloads.mpijob.launch_command import commands, program_of
from training_workloads.mpijob.launch_options import DISCOVERY_SCRIPT_OPTION
from training_workloads.mpijob.view import MpiJobView
from training_workloads.names import DNS_1035_CHARACTERS, DNS_LABEL_LENGTH
from training_workloads.validation import known_names

_ROLES = ("spec", "mpiReplicaSpecs")


@error(f"Required by the operator {OPERATOR_VALIDATION}")
def missing_launcher(job: MpiJobView) -> Iterator[Found]:
    """No launcher: the operator emits a ValidationError and does nothing."""
    if not job.role("Launcher"):
        yield Found(
            (*_ROLES, "Launcher"), "is missing, and nothing starts the ranks", "add a Launcher that runs mpirun"
        )


@error(f"The hostfile is empty {OPERATOR_VALIDATION}")
def missing_workers(job: MpiJobView) -> Iterator[Found]:
    """No workers, and a launcher that holds no ranks either."""
    # A single rank runs in the launcher.
    is_single = bool(job.launches) and all(launch.ranks == 1 for launch in job.launches)
    if not job.role("Worker") and not job.launcher_holds_ranks and not is_single:
        yield Found((*_ROLES, "Worker"), "is missing, and the hostfile is empty", "add a Worker with 1 replica or more")


@error(f"The operator's default is 0, which it rejects {OPERATOR_VALIDATION}")
def worker_replicas(job: MpiJobView) -> Iterator[Found]:
    """Workers without a number of replicas: the operator's default is 0, which it then rejects."""
    if not (worker := job.role("Worker")):
        return
    if worker.content.get("replicas") is None:
        yield Found((*worker.path, "replicas"), "is missing, and the operator's default is 0", "give 1 or more")
    elif worker.replicas is not None and worker.replicas < 1:
        yield Found((*worker.path, "replicas"), f"is {worker.replicas}, which the operator rejects", "give 1 or more")


@error(f"Rejected by the operator {OPERATOR_VALIDATION}")
def launcher_replicas(job: MpiJobView) -> Iterator[Found]:
    """More than one launcher, or none."""
    if job.launcher.replicas not in (None, 1):
        problem = f"is {job.launcher.replicas}, but an MPIJob has one launcher"
        yield Found((*job.launcher.path, "replicas"), problem, "give 1, or omit it")


@error(f"Rejected by the operator {OPERATOR_VALIDATION}")
def missing_containers(job: MpiJobView) -> Iterator[Found]:
    """A pod without containers."""
    for replica in job.replicas:
        if not replica.containers:
            path = (*replica.pod_path, "containers")
            yield Found(path, f"the {replica.role}'s pod has none, which the operator rejects", "add a container")


@error(f"The operator derives such names, and stops with a ValidationError event {OPERATOR_VALIDATION}")
def job_name(job: MpiJobView) -> Iterator[Found]:
    """A name from which the operator cannot derive names of pods: `<name>-worker-<n-1>` is a DNS-1035 label."""
    metadata = job.metadata
    name, path = metadata.get("name"), ("metadata", "name")
    if name is None:
        # `generateName` gives a name that is not known here.
        if not metadata.get("generateName"):
            yield Found(path, "is missing, and the API server rejects the job", "give a name, or generateName")
        return
    if is_placeholder(name, capitals=True):
        return
    if not isinstance(name, str) or not re.fullmatch(DNS_1035_CHARACTERS, name):
        rule = "use lower-case letters, digits and '-', a letter first"
        yield Found(path, f"is {name!r}, from which the operator cannot name its pods", rule)
        return
    suffix = f"-worker-{max(job.worker.replicas or 1, 1) - 1}"
    if len(name) + len(suffix) > DNS_LABEL_LENGTH:
        problem = f"has {len(name)} characters, and with '{suffix}' after it a pod's name has more than 63"
        yield Found(path, problem, f"use {DNS_LABEL_LENGTH - len(suffix)} characters or fewer")


@error(f"The operator accepts 0 and writes it into the hostfile: no rank has a slot {OPERATOR}")
def slots_per_worker(job: MpiJobView) -> Iterator[Found]:
    """Workers that hold no ranks: the operator takes 0 and writes it into the hostfile."""
    if job.slots is None or job.slots > 0:
        return
    reason = "which the operator rejects" if job.slots < 0 else "and workers without slots get no ranks"
    # Elastic Horovod has options for the slots.
    if job.slots < 0 or not any(launch.has(DISCOVERY_SCRIPT_OPTION) for launch in job.launches):
        path = ("spec", "slotsPerWorker")
        yield Found(path, f"is {job.slots}, {reason}", "give 1 or more: one for each GPU of a worker")


@error(f"The field's type lists them, the operator rejects them {OPERATOR_VALIDATION}")
def restart_policy(job: MpiJobView) -> Iterator[Found]:
    """`Always` and `ExitCode`, which the field's type has and the operator rejects."""
    for replica in job.replicas:
        policy = replica.content.get("restartPolicy")
        if isinstance(policy, str) and policy not in get_args(RestartPolicy) and not is_placeholder(policy):
            path = (*replica.path, "restartPolicy")
            yield Found(path, f"is {policy!r}, which the operator rejects", "write Never or OnFailure")


@error(f"The operator's definition accepts any text, and all but AtStartup wait for the workers {OPERATOR}")
def launcher_creation_policy(job: MpiJobView) -> Iterator[Found]:
    """A misspelled policy: the operator accepts every text, and waits for the workers unless it is AtStartup."""
    policy = job.spec.get("launcherCreationPolicy")
    known = get_args(LauncherCreationPolicy)
    if isinstance(policy, str) and policy not in known and not is_placeholder(policy):
        problem = f"is {policy!r}, which has the effect of WaitForWorkersReady"
        yield Found(("spec", "launcherCreationPolicy"), problem, known_names(policy, known))


@warning(
    "The workers' names and sshd may not answer yet (#443, #481); a Job waits 10, 20, 40 s before its first retries"
)
def launcher_may_be_too_early(job: MpiJobView) -> Iterator[Found]:
    """A launcher that is created with workers on GPU nodes, runs mpirun at once, and has few retries."""
    limit = whole(job.run_policy.get("backoffLimit"))
    # With more retries, such as the default of 6 (about 10 minutes), it succeeds later.
    if limit is None or limit > _FEW_RETRIES or not job.worker.total(GPU_RESOURCE) or _starts_as_gang(job):
        return
    if job.spec.get("launcherCreationPolicy") in (None, "AtStartup") and _starts_at_once(job):
        seconds = sum(10 * 2**retry for retry in range(max(limit, 0)))
        problem = (
            f"the launcher starts with the workers and gives up after {seconds} s of retries, before a GPU node starts"
        )
        fix = "write launcherCreationPolicy: WaitForWorkersReady, and give the workers a readinessProbe"
        yield Found(("spec", "launcherCreationPolicy"), problem, fix)


_FEW_RETRIES = 3


def _starts_as_gang(job: MpiJobView) -> bool:
    """Return whether a scheduler may start all pods together: a launcher that waits for workers is no part of that."""
    schedulers = {replica.pod.get("schedulerName") for replica in job.replicas}
    return bool(schedulers - {None, "default-scheduler"}) or "schedulingPolicy" in job.run_policy


@warning("When such a job is resumed the launcher is created with the workers (#615)")
def suspended_launcher_does_not_wait(job: MpiJobView) -> Iterator[Found]:
    """A job of a queue with few retries: when resumed, the launcher is created with the workers (mpi-operator#615)."""
    limit = whole(job.run_policy.get("backoffLimit"))
    is_short = limit is not None and limit <= _FEW_RETRIES
    if is_short and QUEUE_LABEL in job.labels and job.waits_for_workers and _starts_at_once(job):
        problem = "has no effect on a job that was suspended: its launcher starts before its workers"
        fix = "let the launcher's command wait until the workers' names and sshd answer"
        yield Found(("spec", "launcherCreationPolicy"), problem, fix)


def _starts_at_once(job: MpiJobView) -> bool:
    """Return whether the launcher's one command is mpirun: a script, entry point or init container may wait first."""
    launcher = job.launcher.first
    started = commands(launcher.argv) or []
    # A program that starts mpirun may wait before.
    is_one_command = bool(launcher.content.get("command")) and len(started) == 1
    is_one_command = is_one_command and program_of(started[0]) in {launch.launcher for launch in job.launches}
    # Elastic Horovod waits until the discovery script has found enough workers.
    waits = job.launcher.pod.get("initContainers") or any(one.has(DISCOVERY_SCRIPT_OPTION) for one in job.launches)
    return is_one_command and bool(job.launches) and not waits


@error("Open MPI keeps its session files in $TMPDIR or /tmp, on the launcher and on each node (derived)")
def no_session_folder(job: MpiJobView) -> Iterator[Found]:
    """A read-only root file system without a writable /tmp: mpirun and its daemons do not start."""
    for replica in job.replicas:
        first = replica.first
        is_read_only = first.security_context.get("readOnlyRootFilesystem") is True
        elsewhere = any(name == "TMPDIR" or name.endswith("tmpdir_base") for name in first.environment)
        if is_read_only and job.launches and not first.mounts("/tmp") and not elsewhere:
            path = (*first.path, "securityContext", "readOnlyRootFilesystem")
            yield Found(
                path, "is true, and /tmp is not writable, where Open MPI keeps its files", "mount an emptyDir at /tmp"
            )
