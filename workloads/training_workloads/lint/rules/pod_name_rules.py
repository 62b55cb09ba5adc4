"""Rules on the names of a Job's and a JobSet's pods, at which ranks meet: that they resolve.

https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-hostname-and-subdomain-fields
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error
from training_workloads.lint.rules.rendezvous_rules import addresses, pod_names, subdomain_of
from training_workloads.manifests.other_workloads import JobSetView
from training_workloads.manifests.values import is_placeholder, mapping
from training_workloads.manifests.workload import WorkloadView

_DNS = "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"
_JOB_SET = "https://jobset.sigs.k8s.io/docs/concepts/"


@error(f"A pod's name resolves in its subdomain, by a headless Service of that name ([DNS]({_DNS}))")
def pod_name_not_resolved(workload: WorkloadView) -> Iterator[Found]:
    """The name of a pod as the address of rank 0, and pods without a subdomain, or in another one."""
    hosts = pod_names(workload) if workload.kind in ("Job", "JobSet") else []
    subdomain = subdomain_of(workload)
    if is_placeholder(subdomain, capitals=True):
        return
    for address in addresses(workload):
        if address.name not in hosts:
            continue
        if not subdomain and address.domain:
            path = (*workload.groups[0].pod_path, "subdomain")
            problem = f"is missing, and {address.host} does not resolve"
            yield Found(path, problem, f"write subdomain: {address.domain}, with a headless Service of that name")
        elif subdomain and address.domain != subdomain:
            given = f"is in {address.domain}" if address.domain else "has no domain"
            problem = f"has {address.host} as the address of rank 0, which {given}: the pods are in {subdomain}"
            yield Found(address.path, problem, f"write {address.name}.{subdomain}")


@error(f"The JobSet gives its pods no names, and makes no Service ([JobSet]({_JOB_SET}))")
def names_turned_off(workload: WorkloadView) -> Iterator[Found]:
    """`enableDNSHostnames: false` in a JobSet whose ranks meet at the name of a pod."""
    network = mapping(workload.set_spec.get("network")) if isinstance(workload, JobSetView) else {}
    meets = any(address.name in pod_names(workload) for address in addresses(workload))
    if network.get("enableDNSHostnames") is False and meets and isinstance(workload, JobSetView):
        path = (*workload.set_path, "network", "enableDNSHostnames")
        yield Found(path, "is false, but the ranks meet at the name of a pod", "write true, or remove it")
