"""Rules on the pods of an MPIJob: sshd and its keys, the first container."""

from collections.abc import Iterator
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.launch_command import commands, launches, program_of
from training_workloads.mpijob.view import MpiJobView, Replica

# The operator's default.
_ROOTS_KEYS = "/root/.ssh"


# Programs that never start an sshd.
_NOT_SSHD = {"sleep", "tail", "cat", "true", "echo", "python", "python3", "torchrun", "mpirun", "mpiexec", "horovodrun"}


@error("Its user cannot read them")
def keys_not_readable(job: MpiJobView) -> Iterator[Found]:
    """A pod that does not run as root, with its ssh keys in root's home."""
    path = job.spec.get("sshAuthMountPath")
    if path is not None and str(path).rstrip("/") != _ROOTS_KEYS:
        return
    users = [user for replica in job.replicas if (user := _not_root(replica))]
    if users:
        problem = f"is {_ROOTS_KEYS}, which a pod with {users[0]} cannot read"
        fix = "write the .ssh folder of the image's user, such as /home/mpiuser/.ssh"
        yield Found(("spec", "sshAuthMountPath"), problem, fix)


def _not_root(replica: Replica) -> str | None:
    """Return the setting with which the first container does not run as root."""
    contexts = [mapping(level.get("securityContext")) for level in (replica.first.content, replica.pod)]
    # The container's setting overrides the pod's.
    for field in ("runAsUser", "runAsNonRoot"):
        value: Any = next((context[field] for context in contexts if context.get(field) is not None), None)
        if isinstance(value, int) and value:
            return f"{field}: {str(value).lower()}"
        if field == "runAsUser" and value == 0:
            return None
    return None


@error("Version 2 of the operator reaches workers through sshd, no longer through kubectl exec")
def worker_without_sshd(job: MpiJobView) -> Iterator[Found]:
    """Workers that do not run sshd, as with operators before v2, which used kubectl exec."""
    argv = job.worker.first.argv
    started = {program_of(command) for command in commands(argv) or []}
    if job.launches and started and started <= _NOT_SSHD and not any("ssh" in word for word in argv):
        problem = f"runs {' and '.join(sorted(started))}, but the launcher reaches a worker through its sshd"
        yield Found(job.worker.first.argv_path(), problem, "remove command and args, or run /usr/sbin/sshd -De")


@warning("The operator overwrites it (event SetPodTemplateRestartPolicy)")
def template_restart_policy(job: MpiJobView) -> Iterator[Found]:
    """A restart policy in the pod's template, which the operator overwrites (event SetPodTemplateRestartPolicy)."""
    for replica in job.replicas:
        if (policy := replica.pod.get("restartPolicy")) is not None:
            problem = f"is {policy!r}, which the operator overwrites with that of the {replica.role}"
            fix = f"write {'.'.join(map(str, replica.path))}.restartPolicy instead"
            yield Found((*replica.pod_path, "restartPolicy"), problem, fix)


@error("Only the first gets the keys, the hostfile and the operator's variables")
def work_not_in_first_container(job: MpiJobView) -> Iterator[Found]:
    """The operator gives ssh keys, hostfile and variables to `containers[0]` only; here the work is in another."""
    for replica in job.replicas:
        for container in replica.containers[1:]:
            holds_gpus = container.amount(GPU_RESOURCE) and not replica.first.amount(GPU_RESOURCE)
            launches_ranks = launches(container.argv) and not launches(replica.first.argv)
            if holds_gpus or (launches_ranks and replica.role == "Launcher"):
                what = "has the GPUs" if holds_gpus else "runs mpirun"
                problem = f"{what}, but the operator gives keys and hostfile to the first container only"
                yield Found(container.path, problem, "move it to the front of the list")
