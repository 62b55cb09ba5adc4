"""Names of a pod's parts that the API server rejects, by the form or because another part has them.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

import re
from collections.abc import Iterator
from typing import Any

from training_workloads.lint.name_forms import LABEL, SERVICE, SUBDOMAIN, NameForm
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping

# The form of each name of a pod (ValidatePodSpec, validateContainerCommon, ValidateVolumes, validateContainerPorts and
# others of https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go).
_FORMS: dict[str, NameForm] = {
    f"{CONTAINERS}.name": LABEL,
    "spec.volumes[].name": LABEL,
    "spec.hostname|subdomain": LABEL,
    "spec.serviceAccountName|serviceAccount|priorityClassName|runtimeClassName|nodeName": SUBDOMAIN,
    "spec.hostAliases[].hostnames[]": SUBDOMAIN,
    f"{CONTAINERS}.ports[].name": SERVICE,
    f"{CONTAINERS}.livenessProbe|readinessProbe|startupProbe.tcpSocket|httpGet.port": SERVICE,
}

_LONGEST_PORT = len("65535")

# Lists whose names are unique (ValidateVolumes, validateContainerPorts).
_UNIQUE = {"spec.volumes[].name": "a volume", f"{CONTAINERS}.ports[].name": "a port"}


@error("The pod is rejected ([forms](https://kubernetes.io/docs/concepts/overview/working-with-objects/names/))")
def names(pods: PodGroup) -> Iterator[Found]:
    """A name in a form that its field does not take: of a container, volume, port, service account or host."""
    for pattern, form in _FORMS.items():
        for path, value in places(pods.template, pattern, pods.template_path):
            is_open = is_placeholder(value, capitals=True)
            if isinstance(value, str) and not is_open and not re.fullmatch(form.pattern, value):
                given = "is empty" if value == "" else f"is {value!r}"
                is_number = path[-1] == "port" and value.isdecimal() and len(value) <= _LONGEST_PORT
                fix = f"write {int(value)} without quotes" if is_number else f"use {form.rule}"
                yield Found(path, f"{given}, and the pod is rejected", fix)


@error(validated_by("ValidateVolumes, validateContainerPorts", 'The pod is rejected: "Duplicate value"'))
def duplicate_names(pods: PodGroup) -> Iterator[Found]:
    """Two volumes of a pod, or two ports, with the same name."""
    for pattern, kind in _UNIQUE.items():
        seen: set[Any] = set()
        for path, value in places(pods.template, pattern, pods.template_path):
            if isinstance(value, str) and value in seen and not is_placeholder(value, capitals=True):
                problem = f"is {value!r}, as another name of {kind} of this pod, and the pod is rejected"
                yield Found(path, problem, "give each another name")
            seen |= {value} if isinstance(value, str) else set()


@warning(
    "The last one has the value, and server-side apply rejects the list ([Kubernetes]("
    "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy))"
)
def variable_set_twice(pods: PodGroup) -> Iterator[Found]:
    """A variable that a container has twice with different values, of which the last one counts."""
    for path, variables in places(pods.template, f"{CONTAINERS}.env", pods.template_path):
        first: dict[Any, Any] = {}
        for number, entry in enumerate(variables if isinstance(variables, list) else []):
            name = mapping(entry).get("name")
            if isinstance(name, str) and first.setdefault(name, entry) != entry:
                yield Found((*path, number, "name"), f"is {name!r}, which this list has already", "keep one of them")
