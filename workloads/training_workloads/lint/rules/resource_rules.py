"""Rules on requests and limits that the API server rejects when the pods are created.

https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from training_workloads.lint.rule import Found, error
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import amount_of, is_placeholder


@error("Rejected by the API server")
def quantity(pods: PodGroup) -> Iterator[Found]:
    """A value that is not an amount, such as `8GB`."""
    for container in pods.containers:
        for kind in ("requests", "limits"):
            for resource, amount in container.amounts(kind).items():
                if isinstance(amount, str | int | float) and not is_placeholder(amount) and amount_of(amount) is None:
                    path = (*container.path, "resources", kind, str(resource))
                    yield Found(path, f"is {amount!r}, which is not an amount", "give a number, or one such as 5120Mi")


@error('The pod is rejected: extended resources "must be an integer"')
def whole_devices(pods: PodGroup) -> Iterator[Found]:
    """A part of a device: the API server requires a whole number ("must be an integer")."""
    for container in pods.containers:
        for kind in ("requests", "limits"):
            for resource, amount in container.amounts(kind).items():
                if _is_device(resource) and not _is_whole(amount_of(amount)):
                    path = (*container.path, "resources", kind, resource)
                    yield Found(path, f"is {amount}, and the pod is rejected", "give a whole number")


def _is_whole(amount: Decimal | None) -> bool:
    """Return whether an amount has no fraction; other values have none."""
    return amount is None or amount == amount.to_integral_value()


@error(
    "They cannot be overcommitted, and the pod is rejected ([Kubernetes]("
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources))"
)
def device_limits(pods: PodGroup) -> Iterator[Found]:
    """Devices and huge pages cannot be overcommitted: the API server requires a limit, and the request equal to it.

    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
    """
    for container in pods.containers:
        requests, limits = container.amounts("requests"), container.amounts("limits")
        for resource, amount in requests.items():
            if not _is_device(resource) or amount_of(amount) is None or not _is_whole(amount_of(amount)):
                continue
            limit = limits.get(resource)
            if limit is None or (amount_of(limit) not in (None, amount_of(amount))):
                given = "has no limit" if limit is None else f"has the limit {limit}"
                problem = f"is {amount} but {given}, and the pod is rejected"
                path = (*container.path, "resources", "requests", resource)
                yield Found(path, problem, f"write the same under limits: {resource}: {amount}")


def _is_device(resource: Any) -> bool:
    if not isinstance(resource, str):
        return False
    return resource.startswith("hugepages-") or ("/" in resource and "kubernetes.io/" not in resource)


@error('The pod is rejected: "HugePages require cpu or memory"')
def hugepages_alone(pods: PodGroup) -> Iterator[Found]:
    """Huge pages without cpu or memory: the API server rejects the pod ("HugePages require cpu or memory")."""
    for container in pods.containers:
        named = {*container.amounts("requests"), *container.amounts("limits")}
        if any(str(name).startswith("hugepages-") for name in named) and not named & {"cpu", "memory"}:
            problem = "requests huge pages without cpu or memory, and the pod is rejected"
            yield Found((*container.path, "resources"), problem, "add memory to its requests and limits")
