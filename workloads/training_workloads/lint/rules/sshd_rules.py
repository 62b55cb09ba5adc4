"""Rules on the workers' sshd: that it runs, stays, and listens where the launcher and the probes look for it."""

import re
from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import OPERATOR
from training_workloads.manifests.values import mapping, whole
from training_workloads.mpijob.launch_command import commands, launches, program_of, script_of, shell_words
from training_workloads.mpijob.sshd_command import SSHD, Sshd, sshd_of, worker_commands
from training_workloads.mpijob.view import MpiJobView

# Programs that never start an sshd.
_NOT_SSHD = set("sleep tail cat true : echo python python3 torchrun mpirun mpiexec horovodrun".split())


@error(f"Version 2 of the operator reaches workers through sshd, no longer through kubectl exec {OPERATOR}")
def worker_without_sshd(job: MpiJobView) -> Iterator[Found]:
    """Workers that do not run sshd, as with operators before v2, which used kubectl exec."""
    argv = job.worker.first.argv
    started = {program_of(command) for command in commands(argv) or []} - {"done"}
    if job.launches and started and started <= _NOT_SSHD and not any("ssh" in word for word in argv):
        problem = f"runs {' and '.join(sorted(started))}, but the launcher reaches a worker through its sshd"
        yield Found(job.worker.first.argv_path(), problem, "remove command and args, or run /usr/sbin/sshd -De")


@error(f"Only the first gets the keys, the hostfile and the operator's variables {OPERATOR}")
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


# `service ssh start`, `/etc/init.d/ssh start`, `systemctl start sshd`.
_SERVICE = re.compile(r"(service\s+sshd?\s+\w+|\S*/init\.d/sshd?\s+\w+|systemctl\s.*\bsshd?\b.*)")


def _last_command(job: MpiJobView) -> list[str]:
    """Return the last command of the worker; empty where the image's or an unknown one runs."""
    started = worker_commands(job.worker.first.argv) or [[]]
    return started[-1]


def _sshd(job: MpiJobView) -> Sshd | None:
    """Return the sshd with which the worker's command ends; that of the operator where there is no command."""
    return sshd_of(_last_command(job) if job.worker.first.argv else [SSHD, "-De"])


@error(
    "sshd without `-D` starts a copy of itself and ends ([sshd](https://man.openbsd.org/sshd)), and its container too"
)
def sshd_ends_at_once(job: MpiJobView) -> Iterator[Found]:
    """A worker whose last command ends at once: sshd that goes to the background, or a service that is started."""
    last, sshd = _last_command(job), _sshd(job)
    path = job.worker.first.argv_path("ssh")
    if sshd and sshd.stays and sshd.extra and "$" not in sshd.extra:
        yield Found(path, f"gives sshd the argument {sshd.extra!r}, with which it ends", "write /usr/sbin/sshd -De")
    elif sshd and sshd.ends_after:
        problem = f"runs sshd -{sshd.ends_after}, which {_ENDS[sshd.ends_after]}"
        yield Found(path, problem, "write /usr/sbin/sshd -De")
    elif sshd and not sshd.stays:
        problem = "runs sshd without -D: it goes to the background, and the container ends"
        yield Found(path, problem, "write /usr/sbin/sshd -De")
    elif _SERVICE.fullmatch(" ".join(last)):
        problem = f"ends with {' '.join(last)!r}, which returns at once, and the container ends"
        yield Found(path, problem, "write /usr/sbin/sshd -De")


# Options with which it ends.
_ENDS = {
    "d": "serves one connection, and ends",
    "i": "expects a connection at its input, and ends",
    "t": "only checks its configuration, and ends",
    "T": "only prints its configuration, and ends",
}


@error("`sshd re-exec requires execution with an absolute path` ([sshd](https://man.openbsd.org/sshd))")
def sshd_without_path(job: MpiJobView) -> Iterator[Found]:
    """An sshd without its folder: it ends, because it starts itself again for each connection."""
    if (sshd := _sshd(job)) and not sshd.path.startswith(("/", "$")):
        problem = f"starts {sshd.path!r} without its folder, with which sshd ends"
        yield Found(job.worker.first.argv_path("ssh"), problem, "write /usr/sbin/sshd")


def _ports(job: MpiJobView) -> set[int]:
    """Return the ports on which the worker's only server may listen; empty where that is not known."""
    if (sshd := _sshd(job)) is None:
        return set()
    listed = (whole(one.get("containerPort")) for one in job.worker.first.ports)
    # A port out of range is the mistake of another rule.
    return {sshd.port} if sshd.port else {port for port in listed if port and port <= _LAST_PORT}


_LAST_PORT = 65535


@error(
    "Nothing listens there: the worker never becomes ready, or is restarted again and again "
    "([probes](https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/))"
)
def probe_not_at_sshd(job: MpiJobView) -> Iterator[Found]:
    """A probe of the worker at another port than sshd's, or one by HTTP, which sshd does not speak."""
    ports = _ports(job)
    named = [one for one in job.worker.first.ports if isinstance(one.get("name"), str)]
    names = {one["name"]: one.get("containerPort") for one in named}
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = mapping(job.worker.first.content.get(name))
        for handler in ("tcpSocket", "httpGet"):
            given = mapping(probe.get(handler)).get("port")
            port = whole(names.get(given, given) if isinstance(given, str) else given)
            path = (*job.worker.first.path, name, handler)
            if handler == "httpGet" and port is not None and _is_only_server(job):
                fix = f"write tcpSocket: {{port: {min(ports, default=_SSH)}}}"
                yield Found(path, "asks by HTTP, but the worker runs only sshd", fix)
            elif handler == "tcpSocket" and port is not None and ports and port not in ports:
                problem = f"is {port}, but the worker's sshd listens on {min(ports)}"
                yield Found((*path, "port"), problem, f"write {min(ports)}")


def _is_only_server(job: MpiJobView) -> bool:
    """Return whether nothing but sshd runs in the worker: a script may leave another server in the background."""
    script, _ = script_of(job.worker.first.argv) or ("", [])
    return _sshd(job) is not None and "&" not in (shell_words(script) or ())


_PORT_OPTION = re.compile(r"(?:^|\s)-(?:p\s*|o\s*Port[=\s])(\d+)", re.IGNORECASE)
_SSH_ARGUMENTS = ("plm_rsh_args", "plm_ssh_args")


def _ssh_port(job: MpiJobView) -> int | None:
    """Return the port to which the launcher connects by its options; None where they name none."""
    variables = job.launcher.first.environment
    texts = [str(value) for name, (value, _) in variables.items() if name.endswith(_SSH_ARGUMENTS)]
    for launch in job.launches:
        texts += [values[1] for _, _, values in launch.options if len(values) > 1 and values[0] in _SSH_ARGUMENTS]
        if launch.is_horovod and (port := launch.value("p", "ssh-port")):
            texts.append(f"-p {port}")
    return next((int(found[1][:5]) for text in texts if (found := _PORT_OPTION.search(text))), None)


@error("The launcher's ssh gets `Connection refused`, and no rank starts (derived)")
def ssh_port_differs(job: MpiJobView) -> Iterator[Found]:
    """A launcher that connects to another port than the one on which the workers' sshd listens."""
    sshd, port, ports = _sshd(job), _ssh_port(job), _ports(job)
    if not job.launches or not sshd:
        return
    if port and ports and port not in ports:
        problem = f"connects to port {port}, but the workers' sshd listens on {min(ports)}"
        yield Found(job.launch_path, problem, f"write -p {min(ports)}")
    elif not port and sshd.port and sshd.port != _SSH and not _names_port(job, sshd.port) and not _probed_at_22(job):
        problem = f"connects to port 22, but the workers' sshd listens on {sshd.port}"
        yield Found(job.launch_path, problem, f'add --mca plm_rsh_args "-p {sshd.port}", or let sshd listen on 22')


_SSH = 22


def _probed_at_22(job: MpiJobView) -> bool:
    """Return whether the worker's probe expects sshd at 22 too: then sshd is the one at the wrong port."""
    probe = mapping(mapping(job.worker.first.content.get("readinessProbe")).get("tcpSocket"))
    return probe.get("port") == _SSH


def _names_port(job: MpiJobView, port: int) -> bool:
    """Return whether something in the launcher may give ssh the port: a text with it, or a mounted file."""
    first = job.launcher.first
    texts = [*first.argv, *(str(value) for value, _ in first.environment.values())]
    mounts = [str(mount.get("mountPath")) for mount in first.volume_mounts]
    return any(str(port) in text for text in texts) or any("ssh" in mount for mount in mounts)


@warning(f"The operator adds its `sshd -De` only where command and args are omitted (`newWorker`) {OPERATOR}")
def arguments_without_sshd(job: MpiJobView) -> Iterator[Found]:
    """Options of sshd in the worker's args without a command: the image's own program gets them."""
    first = job.worker.first
    if job.launches and not first.content.get("command") and first.argv[:1] and first.argv[0].startswith("-"):
        problem = f"begins with {first.argv[0]}, which the image's entry point gets: no command names sshd"
        yield Found((*first.path, "args"), problem, f"add command: [{SSHD}], or omit args")


@warning("The packages of Debian, Ubuntu, Red Hat and Amazon Linux have it in /usr/sbin (derived)")
def sshd_in_other_folder(job: MpiJobView) -> Iterator[Found]:
    """An sshd in a folder for other programs."""
    if (sshd := _sshd(job)) and sshd.path in ("/usr/bin/sshd", "/bin/sshd", "/usr/local/bin/sshd"):
        yield Found(job.worker.first.argv_path("ssh"), f"starts {sshd.path}", f"write {SSHD}")
