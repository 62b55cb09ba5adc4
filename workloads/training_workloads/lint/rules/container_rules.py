"""Rules on containers that the API server rejects when the pods are created: it accepts an MPIJob itself.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#Container
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, sequence
from training_workloads.names import image_fix
from training_workloads.validation import known_names

_LISTS = ("initContainers", "containers")


@error(validated_by("validateContainers"))
def empty_container(pods: PodGroup) -> Iterator[Found]:
    """A null in a list of containers, such as a lone dash."""
    for name in _LISTS:
        for number, one in enumerate(sequence(pods.pod.get(name))):
            if one is None:
                path = (*pods.pod_path, name, number)
                yield Found(path, "is empty, and the pod is rejected", "give a container, or remove the line")


@error(validated_by("validateContainerCommon", "The MPIJob is accepted, its pods are rejected"))
def missing_image(pods: PodGroup) -> Iterator[Found]:
    """A container without an image."""
    for container in pods.all_containers:
        if container.content.get("image") in (None, ""):
            problem = "is missing, and the pod is rejected"
            yield Found((*container.path, "image"), problem, "give the image that the container runs")


@error(
    "No node can pull it: the pod waits with InvalidImageName "
    "([grammar](https://github.com/distribution/reference/blob/v0.6.0/reference.go))"
)
def image_address(pods: PodGroup) -> Iterator[Found]:
    """An image in a form that no node can pull."""
    for container in pods.all_containers:
        image = container.content.get("image")
        is_open = is_placeholder(image, capitals=True)
        if isinstance(image, str) and image and not is_open and (fix := image_fix(image)):
            problem = f"is {image!r}, and the pod waits with InvalidImageName"
            yield Found((*container.path, "image"), problem, fix)


@error(validated_by("validateContainers", 'The pod is rejected: "Duplicate value"'))
def container_names(pods: PodGroup) -> Iterator[Found]:
    """Two containers of one pod with the same name."""
    seen: set[str] = set()
    for container in pods.all_containers:
        name = container.content.get("name")
        if isinstance(name, str) and name in seen and not is_placeholder(name, capitals=True):
            problem = f"is {name!r}, as another container's of this pod, and the pod is rejected"
            yield Found((*container.path, "name"), problem, "give each container another name")
        seen |= {name} if isinstance(name, str) else set()


# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/util/validation/validation.go (IsEnvVarName).
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


@error(validated_by("IsEnvVarName, IsRelaxedEnvVarName", "The pod is rejected, or no program reads the variable"))
def variable_name(pods: PodGroup) -> Iterator[Found]:
    """A variable whose name has a blank, `=` or another character that programs do not read."""
    for path, name in places(pods.template, f"{CONTAINERS}.env[].name", pods.template_path):
        if isinstance(name, str) and not is_placeholder(name) and not _VARIABLE.fullmatch(name):
            given = "is empty" if not name else f"is {name!r}"
            reason = "the pod is rejected" if not name or "=" in name else "no program reads a variable of that name"
            yield Found(path, f"{given}, and {reason}", "use letters, digits and '_', no digit first")


@error(validated_by("validateEnvVarValueFrom", 'The pod is rejected: "may not be specified when `value` is not empty"'))
def value_and_source(pods: PodGroup) -> Iterator[Found]:
    """A variable with a value and a source."""
    for path, entry in places(pods.template, f"{CONTAINERS}.env[]", pods.template_path):
        if mapping(entry).get("value") and mapping(entry).get("valueFrom") is not None:
            yield Found(path, "has value and valueFrom, and the pod is rejected", "keep one of them")


# https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#available-fields
_POD_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"),
    *("spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)


@error(
    "The pod is rejected (validateObjectFieldSelector; [fields](https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#available-fields))"
)
def pod_field(pods: PodGroup) -> Iterator[Found]:
    """A variable from a field of the pod that Kubernetes does not give."""
    for path, field in places(pods.template, f"{CONTAINERS}.env[].valueFrom.fieldRef.fieldPath", pods.template_path):
        if isinstance(field, str) and not is_placeholder(field):
            name, bracket, _ = field.partition("['")
            keyed = name in ("metadata.labels", "metadata.annotations")
            if name not in _POD_FIELDS or bool(bracket) != keyed:
                yield Found(path, f"is {field!r}, and the pod is rejected", _field_fix(field))


def _field_fix(field: str) -> str:
    """Return what to write in place of a field, whose labels and annotations are given by their keys."""
    matched = _OF_KEYS.fullmatch(field)
    if not matched:
        return known_names(field.partition("['")[0], _POD_FIELDS)
    return f"write metadata.{matched[1]}s['{matched[2] or '<key>'}']"


# `metadata.labels.rank`, `metadata.label['rank']`, `metadata.labels["rank"]`, `metadata.labels`.
_OF_KEYS = re.compile(r"metadata\.(label|annotation)s?(?:[.\[]?[\"']?([^\"'\]\[]+)[\"']?\]?)?")


@error(validated_by("ValidateHostAliases"))
def host_alias(pods: PodGroup) -> Iterator[Found]:
    """A host alias whose address is no IP address."""
    for path, value in places(pods.template, "spec.hostAliases[].ip", pods.template_path):
        if isinstance(value, str) and not is_placeholder(value, capitals=True) and not _is_address(value):
            yield Found(path, f"is {value!r}, and the pod is rejected", "give an IP address, such as 10.0.0.7")


@error(validated_by("validatePodDNSConfig"))
def missing_nameservers(pods: PodGroup) -> Iterator[Found]:
    """`dnsPolicy: None` without name servers."""
    if pods.pod.get("dnsPolicy") == "None" and not mapping(pods.pod.get("dnsConfig")).get("nameservers"):
        problem = "is missing with dnsPolicy: None, and the pod is rejected"
        path = (*pods.pod_path, "dnsConfig", "nameservers")
        yield Found(path, problem, "give name servers, or omit dnsPolicy")


def _is_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


@error(validated_by("validateContainers, validateInitContainers"))
def container_restart_policy(pods: PodGroup) -> Iterator[Found]:
    """A restart policy of a container; only that of a sidecar among the init containers is there to set."""
    for path, value in places(pods.template, "spec.initContainers[].restartPolicy", pods.template_path):
        if isinstance(value, str) and value not in ("Always", "OnFailure", "Never") and not is_placeholder(value):
            yield Found(path, f"is {value!r}, and the pod is rejected", "write Always for a sidecar, or omit it")
