"""Rules on a Service that gives pods their host names, beside the job of those pods."""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.manifests.other_workloads import other_workload
from training_workloads.manifests.values import mapping


@error(
    "Only a headless Service gives pods host names "
    "([Kubernetes](https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/))"
)
def service_not_headless(service: Storage) -> Iterator[Found]:
    """A Service that is the subdomain of a job's pods, and is not headless: their names do not resolve."""
    address = service.spec.get("clusterIP")
    name = mapping(service.document.get("metadata")).get("name")
    if address == "None" or not isinstance(name, str):
        return
    jobs = [job for other in service.neighbours if (job := other_workload(other))]
    if any(pods.pod.get("subdomain") == name for job in jobs for pods in job.groups):
        given = "is missing" if address is None else f"is {address!r}"
        problem = f"{given}: the Service is the pods' subdomain, and without None their names do not resolve"
        yield Found(("spec", "clusterIP"), problem, "write clusterIP: None")
