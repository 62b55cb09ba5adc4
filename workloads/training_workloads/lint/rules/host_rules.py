"""Rules on where a launch finds the workers: the hostfile, the hosts in the command, the MPI that reads them."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from training_workloads.lint.launch_facts import has_parameter, is_open_mpi_5, workers_of
from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import OPERATOR
from training_workloads.manifests.values import is_placeholder
from training_workloads.mpijob.launch_command import HYDRA, Launch, script_of
from training_workloads.mpijob.launch_options import (
    CONFIG_FILE,
    DISCOVERY_SCRIPT_OPTION,
    HOSTFILE_OPTION,
    HOSTS,
    MCA,
    is_option_of_hydra,
)
from training_workloads.mpijob.launcher_argv import DISCOVERY_SCRIPT, HOSTFILE
from training_workloads.mpijob.view import MpiJobView

_HOSTFILE_PARAMETERS = ("prte_default_hostfile",)

# Options of Open MPI that Hydra, the launcher of Intel MPI and MPICH, does not have.
_ONLY_OPEN_MPI = (*MCA.spellings, "allow-run-as-root", "x", "oversubscribe", "tag-output", "report-bindings")

_LOCAL = {"localhost", "127.0.0.1"}
_WORKER = re.compile(r"(?P<job>.+)-worker-(?P<number>\d+)")


@error(
    "Open MPI 5 ignores the variables with the operator's hostfile, and all ranks run in the launcher (#842, "
    "kubeflow/trainer#4028); horovodrun uses localhost"
)
def missing_hostfile(job: MpiJobView) -> Iterator[Found]:
    """A launch without hosts, by horovodrun or an Open MPI that is known to be version 5.

    The operator sets them in variables of Open MPI 4, such as Amazon's in /opt/amazon/openmpi.
    """
    if not job.role("Worker") or has_parameter(job, _HOSTFILE_PARAMETERS):
        return
    for launch in job.launches:
        has_hosts = launch.has(HOSTFILE_OPTION, HOSTS, DISCOVERY_SCRIPT_OPTION, CONFIG_FILE)
        reads_none = launch.is_horovod or (job.is_open_mpi and is_open_mpi_5(job, launch))
        # An elastic one is the case of `elastic-without-hosts`.
        if reads_none and not has_hosts and not launch.expands and launch.min_ranks is None:
            which = "horovodrun" if launch.is_horovod else f"{launch.launcher} of Open MPI 5"
            problem = f"has no hostfile, and {which} then starts all ranks in the launcher"
            yield Found(job.launch_path, problem, f"add --hostfile {HOSTFILE}, which every version reads")


@error(f"The operator mounts the hostfile at `{HOSTFILE}` (`newLauncherPodTemplate` of mpi-operator v0.8.2) {OPERATOR}")
def hostfile_not_there(job: MpiJobView) -> Iterator[Found]:
    """A path of the hostfile or the discovery script that neither the operator, a volume nor the command provides."""
    text = "\n".join(job.launcher.first.argv)
    for launch in job.launches:
        for option, right in ((HOSTFILE_OPTION, HOSTFILE), (DISCOVERY_SCRIPT_OPTION, DISCOVERY_SCRIPT)):
            given = launch.value(option) or ""
            path, beside = PurePosixPath(given), given.startswith("/etc/mpi/")
            is_open = is_placeholder(given, capitals=True) or "$" in given
            if not path.is_absolute() or given == right or is_open or " " in given:
                continue
            # A script may write it.
            written = script_of(job.launcher.first.argv) is not None and text.count(given) > 1
            if beside or not (written or _has_volume_at(job, path) or job.launcher.pod.get("initContainers")):
                yield Found(job.launch_path, f"has {option.written} {given}, which does not exist", f"write {right}")


def _has_volume_at(job: MpiJobView, path: PurePosixPath) -> bool:
    mounts = (mount.get("mountPath") for mount in job.launcher.first.volume_mounts)
    return any(isinstance(mount, str) and path.is_relative_to(mount) for mount in mounts)


@error(f"The operator names the workers `<job>-worker-<n>`, from 0 (`workerName` of mpi-operator v0.8.2) {OPERATOR}")
def hosts_of_another_job(job: MpiJobView) -> Iterator[Found]:
    """Hosts in the command that are not the job's workers."""
    for launch in job.launches:
        hosts = [host.partition(":")[0] for host in (launch.value(HOSTS) or "").split(",") if host]
        if not hosts or any(is_placeholder(host, capitals=True) or "$" in host for host in hosts):
            continue
        if set(hosts) <= _LOCAL and workers_of(job):
            problem = f"has {hosts[0]} as its only host: all ranks run in the launcher"
            yield Found(job.launch_path, problem, f"write --hostfile {HOSTFILE}")
        if too_few := _missing_slots(launch):
            yield Found(job.launch_path, too_few, "give each host as many slots as a worker has GPUs")
        for host in hosts:
            if found := _wrong_worker(job, host):
                yield Found(job.launch_path, *found)


def _wrong_worker(job: MpiJobView, host: str) -> tuple[str, str] | None:
    """Return the problem of a host that has the name of a worker, and the fix; None where it may be right."""
    worker = _WORKER.fullmatch(host.partition(".")[0])
    if worker is None:
        return None
    name = job.metadata.get("name")
    if isinstance(name, str) and not is_placeholder(name, capitals=True) and worker["job"] != name:
        fix = f"write {name}-worker-0 and so on, or --hostfile {HOSTFILE}"
        return f"has {worker[0]}, a worker of job {worker['job']!r}", fix
    workers = job.worker.replicas
    if workers and int(worker["number"][:9]) >= workers:
        return f"has {worker[0]}, but the workers are 0 to {workers - 1}", f"write --hostfile {HOSTFILE}"
    return None


def _missing_slots(launch: Launch) -> str:
    """Return the problem of hosts with fewer slots than ranks; empty where there is none, or a number is missing."""
    listed = [host.partition(":")[2] for host in (launch.value(HOSTS) or "").split(",") if host]
    if launch.ranks is None or launch.has("oversubscribe") or not all(slots.isdecimal() for slots in listed):
        return ""
    total = sum(int(slots[:6]) for slots in listed)
    return f"is for {launch.ranks} ranks, but its hosts have {total} slots" if launch.ranks > total else ""


@error(
    "The operator writes the hostfile and the variables of the named implementation (`newConfigMap` of mpi-operator "
    f"v0.8.2); a launcher of another one does not read them {OPERATOR}"
)
def other_mpi_implementation(job: MpiJobView) -> Iterator[Found]:
    """A launch with options of Open MPI where the job says Intel MPI or MPICH, or the other way round."""
    implementation = job.spec.get("mpiImplementation")
    for launch in job.launches:
        if launch.is_horovod:
            continue
        hydra = [launch.words[position] for position, name, _ in launch.options if is_option_of_hydra(name)]
        if implementation in ("Intel", "MPICH") and launch.has_option(*_ONLY_OPEN_MPI):
            problem = (
                f"is {implementation}, but {launch.launcher} has options of Open MPI, which reads another hostfile"
            )
            yield Found(("spec", "mpiImplementation"), problem, "write OpenMPI")
        elif job.is_open_mpi and (hydra or launch.launcher == HYDRA):
            given = "is missing, and its default is OpenMPI" if implementation is None else "is OpenMPI"
            problem = f"{given}, but {(hydra or [launch.launcher])[0]} is of Intel MPI and MPICH"
            yield Found(("spec", "mpiImplementation"), problem, "write Intel or MPICH")
