"""Rules on requests and limits that the API server rejects when the pods are created.

https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import AMOUNT_KINDS, amount_of, is_placeholder
from training_workloads.validation import known_names


@error(validated_by("ValidateResourceQuantityValue", 'The pod is rejected: "must be an integer"'))
def whole_devices(pods: PodGroup) -> Iterator[Found]:
    """A part of a device: the API server requires a whole number ("must be an integer")."""
    for container in pods.all_containers:
        for kind in AMOUNT_KINDS:
            for resource, amount in container.amounts(kind).items():
                if (
                    _is_device(resource)
                    and not _is_whole(amount_of(amount))
                    and not str(resource).startswith("hugepages-")
                ):
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
    for container in pods.all_containers:
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


@error(validated_by("ValidateContainerResourceRequirements", '"HugePages require cpu or memory"'))
def hugepages_alone(pods: PodGroup) -> Iterator[Found]:
    """Huge pages without cpu or memory: the API server rejects the pod ("HugePages require cpu or memory")."""
    for container in pods.all_containers:
        named = {*container.amounts("requests"), *container.amounts("limits")}
        if any(str(name).startswith("hugepages-") for name in named) and not named & {"cpu", "memory"}:
            problem = "requests huge pages without cpu or memory, and the pod is rejected"
            yield Found((*container.path, "resources"), problem, "add memory to its requests and limits")


@error(validated_by("ValidateContainerResourceRequirements", '"Must be less than or equal to limit"'))
def request_above_limit(pods: PodGroup) -> Iterator[Found]:
    """More CPU, memory or disk requested than the limit allows."""
    for container in pods.all_containers:
        limits = container.amounts("limits")
        for resource, amount in container.amounts("requests").items():
            requested, limit = amount_of(amount), amount_of(limits.get(resource))
            if requested is not None and limit is not None and requested > limit and not _is_device(resource):
                problem = f"is {amount} but the limit is {limits[resource]}, and the pod is rejected"
                path = (*container.path, "resources", "requests", str(resource))
                yield Found(path, problem, "request the limit or less, or raise the limit")


@error(validated_by("ValidateNonnegativeQuantity", 'The pod is rejected: "must be greater than or equal to 0"'))
def negative_amount(pods: PodGroup) -> Iterator[Found]:
    """A negative request or limit."""
    for container in pods.all_containers:
        for kind in AMOUNT_KINDS:
            for resource, amount in container.amounts(kind).items():
                if (given := amount_of(amount)) is not None and given < 0:
                    path = (*container.path, "resources", kind, str(resource))
                    yield Found(path, f"is {amount}, and the pod is rejected", "give 0 or more")
    for path, amount in places(pods.template, "spec.volumes[].emptyDir.sizeLimit", pods.template_path):
        if (given := amount_of(amount)) is not None and given < 0:
            yield Found(path, f"is {amount}, and the pod is rejected", "give 0 or more")


_STANDARD = ("cpu", "memory", "ephemeral-storage")
# Wrong spellings of a resource with a domain, and of a standard one.
_MEANT = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "efa": "vpc.amazonaws.com/efa", "mem": "memory"}


@error(validated_by("validateContainerResourceName", '"Must be a standard resource for containers"'))
def resource_name(pods: PodGroup) -> Iterator[Found]:
    """A resource without a domain that is not Kubernetes' own, such as `gpu`."""
    for container in pods.all_containers:
        for kind in AMOUNT_KINDS:
            for resource in container.amounts(kind):
                name = str(resource)
                if "/" in name or name in _STANDARD or name.startswith("hugepages-") or is_placeholder(name):
                    continue
                fix = (
                    f"did you mean {_MEANT[name.lower()]}?" if name.lower() in _MEANT else known_names(name, _STANDARD)
                )
                path = (*container.path, "resources", kind, name)
                yield Found(path, "is no resource of Kubernetes, and has no domain; the pod is rejected", fix)


@error(validated_by("validateContainerResources", '"Must be positive integer multiple of page size"'))
def hugepage_multiple(pods: PodGroup) -> Iterator[Found]:
    """Huge pages of no known size, or an amount that is no multiple of the page."""
    for container in pods.all_containers:
        for kind in AMOUNT_KINDS:
            for resource, amount in container.amounts(kind).items():
                size = amount_of(str(resource).removeprefix("hugepages-"))
                given = amount_of(amount)
                if not str(resource).startswith("hugepages-") or given is None or not size or given < 0:
                    continue
                if given % size:
                    path = (*container.path, "resources", kind, resource)
                    problem = f"is {amount}, which is no multiple of the page, and the pod is rejected"
                    yield Found(path, problem, "give bytes, such as 5120Mi")


@error(validated_by("validatePodResources", 'The pod is rejected: "not supported for Pod level resources"'))
def device_of_pod(pods: PodGroup) -> Iterator[Found]:
    """Devices requested for the pod as a whole instead of a container."""
    for path, _ in places(pods.template, "spec.resources.requests|limits{}", pods.template_path):
        if _is_device(path[-1]) and not str(path[-1]).startswith("hugepages-"):
            problem = "is a device, which only a container can request, and the pod is rejected"
            yield Found(path, problem, "move it to the container's resources")


_STORAGE_MEDIUM = "spec.volumes[].emptyDir.medium"


@error("The kubelet cannot mount the volume (https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/)")
def hugepages_medium(pods: PodGroup) -> Iterator[Found]:
    """A volume of huge pages in a pod that requests none."""
    named = {name for one in pods.all_containers for name in one.resource_names}
    for path, value in places(pods.template, _STORAGE_MEDIUM, pods.template_path) if pods.is_whole else ():
        if (
            isinstance(value, str)
            and value.startswith("HugePages")
            and not any(one.startswith("hugepages-") for one in named)
        ):
            problem = f"is {value}, but no container of the pod requests huge pages: the volume cannot be mounted"
            yield Found(path, problem, "add hugepages-2Mi to requests and limits, or use another medium")
