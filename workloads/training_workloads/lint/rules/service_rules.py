"""Rules on a Service that gives pods their host names, beside the job of those pods."""

from collections.abc import Iterator
from typing import Any

from training_workloads.lint.rule import Found, error
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.manifests.other_workloads import other_workload
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, names_placeholder
from training_workloads.manifests.workload import WorkloadView

_DNS = "([Kubernetes](https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/))"

# Labels that the Job controller gives to pods
# (https://kubernetes.io/docs/reference/labels-annotations-taints/#batch-kubernetes-io-job-name).
_JOB_NAMES = ("job-name", "batch.kubernetes.io/job-name")
_OF_CONTROLLERS = ("controller-uid", "statefulset.kubernetes.io", "apps.kubernetes.io")


def _named(service: Storage) -> Iterator[tuple[WorkloadView, PodGroup]]:
    """Yield the pods beside a Service that have its name as their subdomain."""
    name = mapping(service.document.get("metadata")).get("name")
    jobs = [job for other in service.neighbours if (job := other_workload(other))]
    for job in jobs if isinstance(name, str) else ():
        yield from ((job, pods) for pods in job.groups if pods.pod.get("subdomain") == name)


@error(f"Only a headless Service gives pods host names {_DNS}")
def service_not_headless(service: Storage) -> Iterator[Found]:
    """A Service that is the subdomain of a job's pods, and is not headless: their names do not resolve."""
    address = service.spec.get("clusterIP")
    if address != "None" and any(_named(service)):
        given = "is missing" if address is None else f"is {address!r}"
        problem = f"{given}: the Service is the pods' subdomain, and without None their names do not resolve"
        yield Found(("spec", "clusterIP"), problem, "write clusterIP: None")


@error(f"A Service names the pods that it selects {_DNS}")
def service_selects_other_pods(service: Storage) -> Iterator[Found]:
    """A Service that is the subdomain of a job's pods, and selects others by its labels: their names do not resolve."""
    for key, value in mapping(service.spec.get("selector")).items():
        for job, pods in _named(service):
            labels = pods.labels
            given = _label(str(key), labels, job)
            if given != value and not names_placeholder(given, value) and given is not _UNKNOWN:
                has = f"have {given!r}" if given is not None else "have no such label"
                problem = f"is {value!r}, but the pods of the {job.kind} {has}, and their names do not resolve"
                yield Found(("spec", "selector", str(key)), problem, "write the pods' label, or label them so")


_UNKNOWN = object()


def _label(key: str, labels: Any, job: WorkloadView) -> Any:
    """Return a label of a job's pods; `_UNKNOWN` where a controller may set it."""
    if key in labels:
        return labels[key]
    if key in _JOB_NAMES and job.kind == "Job":
        return job.metadata.get("name", _UNKNOWN)
    # Controllers' labels have their domain.
    return _UNKNOWN if "/" in key or key in (*_JOB_NAMES, *_OF_CONTROLLERS) else None


@error(f"A Service names pods of its namespace only {_DNS}")
def service_in_other_namespace(service: Storage) -> Iterator[Found]:
    """A Service that is the subdomain of a job's pods, in another namespace than they are."""
    own = mapping(service.document.get("metadata")).get("namespace")
    for job, _ in _named(service):
        other = job.metadata.get("namespace")
        if own != other and isinstance(own, str) and isinstance(other, str) and not names_placeholder(own, other):
            problem = f"is {own!r}, but the pods of the {job.kind} are in {other!r}, and their names do not resolve"
            yield Found(("metadata", "namespace"), problem, f"write {other}")


@error(f"A pod's name resolves by a headless Service that is called like its subdomain {_DNS}")
def service_of_other_name(service: Storage) -> Iterator[Found]:
    """A headless Service that selects the pods of a job, beside no Service of their subdomain's name."""
    selector = mapping(service.spec.get("selector"))
    name = mapping(service.document.get("metadata")).get("name")
    names = [mapping(other.get("metadata")).get("name") for other in service.others("Service")]
    if service.spec.get("clusterIP") != "None" or not selector or not isinstance(name, str):
        return
    for job in (found for other in service.neighbours if (found := other_workload(other))):
        for pods in job.groups:
            labels = pods.labels
            subdomain = pods.pod.get("subdomain")
            selects = all(labels.get(key) == value for key, value in selector.items())
            if (
                isinstance(subdomain, str)
                and subdomain not in names
                and selects
                and not names_placeholder(subdomain, name)
            ):
                problem = f"is {name!r}, but the subdomain of the pods that it selects is {subdomain!r}"
                yield Found(("metadata", "name"), problem, f"write {subdomain}, or that subdomain: {name}")
