"""Rules on the host at which ranks meet: that it is a pod of this job.

https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-hostname-and-subdomain-fields
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from training_workloads.lint.rule import Found, error
from training_workloads.lint.variables import set_variables
from training_workloads.manifests.other_workloads import BatchJob, JobSetView, JobView
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.values import is_placeholder, mapping, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

__all__ = ["addresses", "pod_names", "subdomain_of"]

_VARIABLES = ("MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")

_DNS = "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"

# Names of the pods of each kind.
_LOOKS = {
    "JobSet": re.compile(r".+-\d+-\d+"),
    "PyTorchJob": re.compile(r".+-(master|worker)-\d+"),
    "MPIJob": re.compile(r".+-worker-\d+"),
    "TrainJob": re.compile(r".+-node-\d+-\d+"),
}


@dataclass(frozen=True, slots=True)
class _Address:
    """A host's name at which ranks meet.

    Attributes:
        path: Where it is written.
        host: The whole name.
    """

    path: Path
    host: str

    @property
    def name(self) -> str:
        """The pod's name."""
        return self.host.partition(".")[0]

    @property
    def domain(self) -> str:
        """The first part of what follows it, which is the pods' subdomain."""
        return self.host.partition(".")[2].partition(".")[0]


def addresses(workload: WorkloadView) -> Iterator[_Address]:
    """Yield each place that names the host of rank 0."""
    for name, value, path, _ in set_variables(workload, _VARIABLES):
        if not is_placeholder(value, capitals=True):
            yield _Address(path, value.partition(":")[0] if name == _VARIABLES[-1] else value)
    for container in workload.containers:
        run = torchrun(container.argv)
        if run and run.address and not is_placeholder(run.address, capitals=True) and "$" not in run.address:
            yield _Address(container.argv_path(run.address), run.address)


def _name(workload: WorkloadView) -> str:
    name = workload.metadata.get("name")
    return name if isinstance(name, str) and not is_placeholder(name, capitals=True) else ""


def pod_names(workload: WorkloadView) -> list[str]:
    """Return the names of the pods; none where they are not known."""
    name = _name(workload)
    counts = [pods.replicas for pods in workload.rank_groups]
    if not name or not counts or any(count is None or not 0 < count <= _MOST for count in counts):
        return []
    if isinstance(workload, JobSetView):
        return [pod for job in workload.jobs for pod in _pods_of_a_set(name, job)]
    middle = {"Job": "", "TrainJob": "node-0-"}.get(workload.kind)
    return [
        f"{name}-{pods.role.lower() + '-' if middle is None else middle}{index}"
        for pods in workload.rank_groups
        for index in range(pods.replicas or 0)
    ]


def _pods_of_a_set(name: str, job: BatchJob) -> list[str]:
    """Return the names of the pods of one of the jobs of a JobSet."""
    completions = whole(job.spec.get("completions")) or 0
    pods = max(job.parallelism or 0, completions if 0 < completions <= _MOST else 0)
    return [f"{name}-{job.name}-{copy}-{index}" for copy in range(job.copies or 0) for index in range(pods)]


# Jobs with more pods than any cluster are no jobs.
_MOST = 10_000


def subdomain_of(workload: WorkloadView) -> str:
    """Return the subdomain of a Job's or a JobSet's pods; empty where there is none."""
    if workload.kind == "JobSet" and isinstance(workload, JobSetView):
        return str(mapping(workload.set_spec.get("network")).get("subdomain") or _name(workload))
    return str(next((pods.pod.get("subdomain") for pods in workload.groups), None) or "")


@error(f"No pod has that name, and the ranks wait for it ([DNS]({_DNS}))")
def rendezvous_host(workload: WorkloadView) -> Iterator[Found]:
    """An address of rank 0 that looks like a pod of this job and is none."""
    hosts, looks = pod_names(workload), _LOOKS.get(workload.kind)
    subdomain = subdomain_of(workload) if isinstance(workload, JobView) else ""
    for address in addresses(workload) if hosts else ():
        is_pods = bool(looks and looks.fullmatch(address.name))
        if isinstance(workload, JobView):
            is_pods = (is_pods or workload.kind == "Job") and bool(subdomain) and address.domain == subdomain
            is_pods = is_pods or (bool(looks and looks.fullmatch(address.name)) and _begins(address, workload))
        if is_pods and address.name not in hosts and address.name not in map(str.lower, hosts):
            rest = address.host.removeprefix(address.name)
            problem = f"has {address.host} as the address of rank 0, but the pods are {hosts[0]} and so on"
            yield Found(address.path, problem, f"write {hosts[0]}{rest}")


def _begins(address: _Address, workload: WorkloadView) -> bool:
    return address.name.startswith(f"{_name(workload)}-")
