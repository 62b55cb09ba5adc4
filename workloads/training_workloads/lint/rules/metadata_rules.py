"""Labels, annotations and names of objects that the API server rejects.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from training_workloads.lint.name_forms import LABEL, LABEL_VALUE, SUBDOMAIN
from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import places
from training_workloads.manifests.values import is_placeholder
from training_workloads.manifests.workload import WorkloadView
from training_workloads.names import annotation_key, label_key
from training_workloads.validation import Path


@error(
    "The API server rejects the object ([syntax](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/))"
)
def labels(workload: WorkloadView) -> Iterator[Found]:
    """A label or a node selector in a form that Kubernetes rejects, such as a value with a blank."""
    yield from _labels(workload.document, "metadata.labels", ())
    for pods in workload.groups:
        for pattern in ("metadata.labels", "spec.nodeSelector"):
            yield from _labels(pods.template, pattern, pods.template_path)


def _labels(root: Mapping[Any, Any], pattern: str, path: Path) -> Iterator[Found]:
    for place, value in places(root, f"{pattern}{{}}", path):
        if is_placeholder(value) or is_placeholder(place[-1]):
            continue
        if next(label_key("", place[-1]), None):
            yield Found(place, "is no key of a label, and is rejected", "write it as name or domain/name")
        elif isinstance(value, str) and not re.fullmatch(LABEL_VALUE.pattern, value):
            yield Found(
                place, f"is {value!r}, and is rejected", f"use {LABEL_VALUE.rule}, letters or digits at the ends"
            )


@error(validated_by("ValidateAnnotations", "The API server rejects the object"))
def annotations(workload: WorkloadView) -> Iterator[Found]:
    """The key of an annotation in a form that Kubernetes rejects."""
    roots: list[tuple[Any, Path]] = [(workload.document, ())]
    roots += [(pods.template, pods.template_path) for pods in workload.groups]
    for root, path in roots:
        for place, _ in places(root, "metadata.annotations{}", path):
            if next(annotation_key("", str(place[-1])), None) and not is_placeholder(place[-1]):
                yield Found(place, "is no key of an annotation, and is rejected", "write it as name or domain/name")


@error(
    "The API server rejects the object ([names](https://kubernetes.io/docs/concepts/overview/working-with-objects/names/))"
)
def object_names(workload: WorkloadView) -> Iterator[Found]:
    """A namespace or a job's name in a form that Kubernetes rejects; an MPIJob's name has a rule of its kind."""
    metadata = workload.metadata
    forms = {"namespace": LABEL} | ({} if workload.kind == "MPIJob" else {"name": SUBDOMAIN})
    for field, form in forms.items():
        value = metadata.get(field)
        is_open = is_placeholder(value, capitals=True)
        if isinstance(value, str) and not is_open and not re.fullmatch(form.pattern, value):
            yield Found(("metadata", field), f"is {value!r}, and is rejected", f"use {form.rule}")
    if workload.kind != "MPIJob" and not metadata.get("name") and not metadata.get("generateName"):
        yield Found(
            ("metadata", "name"), "is missing, and the API server rejects the job", "give a name, or generateName"
        )
