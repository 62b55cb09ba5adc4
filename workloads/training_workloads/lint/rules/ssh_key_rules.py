"""Rules on the ssh keys and the hostfile that the operator mounts, and on the user who reads them.

https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go (`setupSSHOnPod`)
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from training_workloads.lint.launch_facts import has_parameter
from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import OPERATOR
from training_workloads.manifests.values import is_placeholder, mapping, sequence
from training_workloads.mpijob.launcher_argv import HOSTFILE
from training_workloads.mpijob.view import MpiJobView, Replica

# The operator's default.
_ROOTS_KEYS = "/root/.ssh"

# Volumes in which no folder can be made.
_READ_ONLY = ("configMap", "secret", "projected", "downwardAPI")


@error("Its user cannot read them (derived)")
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


def _keys_path(job: MpiJobView) -> str | None:
    """Return where the keys are mounted; None where that is no text, or a placeholder."""
    path = _ROOTS_KEYS if job.spec.get("sshAuthMountPath") is None else job.spec.get("sshAuthMountPath")
    return path if isinstance(path, str) and not is_placeholder(path, capitals=True) else None


def _is_root(job: MpiJobView) -> bool:
    """Return whether the launcher runs as root by what the job says: its user, or the option that only root needs."""
    contexts = [mapping(one.get("securityContext")) for one in (job.launcher.first.content, job.launcher.pod)]
    user = next((context["runAsUser"] for context in contexts if context.get("runAsUser") is not None), None)
    return user == 0 or (user is None and any(launch.has_option("allow-run-as-root") for launch in job.launches))


@error(
    "ssh looks for keys in `.ssh` of its user's home only, and rejects a private key that others can read ([ssh](https://man.openbsd.org/ssh))"
)
def keys_not_found(job: MpiJobView) -> Iterator[Found]:
    """Keys where the launcher's ssh does not look for them."""
    keys, path = _keys_path(job), ("spec", "sshAuthMountPath")
    # An option or a file may name the keys.
    if not keys or not job.launches or has_parameter(job, ("IdentityFile", "-i /")):
        return
    if not keys.startswith("/"):
        yield Found(path, f"is {keys!r}, and no absolute path", "write the .ssh folder of the image's user")
    elif keys.rstrip("/") == _ROOTS_KEYS:
        if keys != _ROOTS_KEYS:
            problem = f"is {keys!r}: the operator restricts the keys' mode only for {_ROOTS_KEYS}, and ssh rejects them"
            yield Found(path, problem, f"write {_ROOTS_KEYS}")
    elif PurePosixPath(keys).name != ".ssh":
        yield Found(path, f"is {keys}, where ssh does not look for keys", "write the .ssh folder of the image's user")
    elif _is_root(job):
        problem = f"is {keys}, but the launcher runs as root, whose ssh looks in {_ROOTS_KEYS}"
        yield Found(path, problem, f"omit it, or write {_ROOTS_KEYS}")


@error(
    f"The operator adds mounts at these paths: the same path twice is rejected, a file inside hides its own {OPERATOR}"
)
def mount_over_keys(job: MpiJobView) -> Iterator[Found]:
    """A volume at the path of the ssh keys or of the hostfile, inside of it, or read-only around it."""
    keys = _keys_path(job)
    for replica in job.replicas:
        taken = {"ssh keys": keys} if keys else {}
        if replica.role == "Launcher":
            taken["hostfile"] = str(PurePosixPath(HOSTFILE).parent)
        for number, mount in enumerate(replica.first.volume_mounts):
            given = mount.get("mountPath")
            if not isinstance(given, str) or not given.startswith("/"):
                continue
            path = (*replica.first.path, "volumeMounts", number, "mountPath")
            for what, place in taken.items():
                fix = "remove the mount and its volume: the operator makes the keys" if place == keys else _ELSEWHERE
                inside = PurePosixPath(given).is_relative_to(place)
                around = PurePosixPath(place).is_relative_to(given) and _is_read_only(replica, mount.get("name"))
                if inside or around:
                    problem = f"is {given}, but the operator mounts the {what} at {place}"
                    yield Found(path, problem, fix)


_ELSEWHERE = "mount it elsewhere"


def _is_read_only(replica: Replica, name: Any) -> bool:
    volumes = [mapping(one) for one in sequence(replica.pod.get("volumes"))]
    return any(kind in volume for volume in volumes if volume.get("name") == name for kind in _READ_ONLY)


_OF_SSHD = ("SETUID", "SETGID", "SYS_CHROOT")


@error(
    "sshd of root gives up its rights for each connection "
    "([capabilities](https://man7.org/linux/man-pages/man7/capabilities.7.html))"
)
def capabilities_of_sshd(job: MpiJobView) -> Iterator[Found]:
    """A worker whose sshd runs as root without the capabilities that it needs for each connection."""
    first = job.worker.first
    capabilities = mapping(first.security_context.get("capabilities"))
    added, dropped = _capabilities(capabilities.get("add")), _capabilities(capabilities.get("drop"))
    lost = [name for name in _OF_SSHD if {name, "ALL"} & dropped and not {name, "ALL"} & added]
    is_root = (_keys_path(job) or "").rstrip("/") == _ROOTS_KEYS and _not_root(job.worker) is None
    if lost and is_root and job.launches and (not first.argv or any("sshd" in word for word in first.argv)):
        path = (*first.path, "securityContext", "capabilities", "drop")
        problem = f"takes {', '.join(lost)} from sshd, which closes every connection without them"
        yield Found(path, problem, f"add: [{', '.join(lost)}], or run sshd as another user")


def _capabilities(names: Any) -> set[str]:
    return {str(name).upper().removeprefix("CAP_") for name in sequence(names)}
