"""Rules on Kueue's labels, which it reads from the job itself only.

https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from training_workloads.lint.rule import Found, warning
from training_workloads.manifests.values import mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.api import QUEUE_LABEL
from training_workloads.validation import Path

_PREFIX, _, _QUEUE = QUEUE_LABEL.rpartition("/")

# Labels of a job, by the part behind the prefix.
_ON_JOBS = (_QUEUE, "priority-class")
_OTHERS = {
    *("max-exec-time-seconds", "prebuilt-workload-name", "managed", "job-uid", "multikueue-origin", "podset"),
    *("pod-group-name", "pod-group-total-count", "pod-group-fast-admission", "pod-group-serving", "elastic-job"),
    *("is-group-workload", "retriable-in-group", "safe-to-forcefully-delete", "cannot-hold-reservation", "tas"),
}

_OTHER_PREFIX = re.compile(r"(\w+\.)*kueue(\.[\w-]+)*|x-k8s\.io")


def _metadata(workload: WorkloadView) -> Iterator[tuple[Path, Mapping[Any, Any], bool]]:
    """Yield the labels and annotations of a workload and its pods: path, content, and whether they are labels of it."""
    for kind in ("labels", "annotations"):
        yield ("metadata", kind), mapping(workload.metadata.get(kind)), kind == "labels"
        yield from ((path, content, False) for path, content in _inside(workload.spec, ("spec",), kind))


def _inside(value: Any, path: Path, kind: str) -> Iterator[tuple[Path, Mapping[Any, Any]]]:
    """Yield the labels or annotations of each metadata inside of a value."""
    entries = enumerate(value) if isinstance(value, list) else mapping(value).items()
    for key, inner in entries:
        if key == "metadata":
            yield (*path, "metadata", kind), mapping(mapping(inner).get(kind))
        elif isinstance(inner, list | dict) and isinstance(key, str | int):
            yield from _inside(inner, (*path, key), kind)


@warning("Kueue does not see the job, which starts without a quota ([docs](https://kueue.sigs.k8s.io/docs/tasks/run/))")
def queue_label_misplaced(workload: WorkloadView) -> Iterator[Found]:
    """A label of Kueue on the pods or as an annotation, and not on the job."""
    for path, content, is_read in _metadata(workload):
        for name in _ON_JOBS:
            label = f"{_PREFIX}/{name}"
            # Older versions read the queue there too (`QueueNameForObject`).
            is_former = path == ("metadata", "annotations") and label == QUEUE_LABEL
            if label in content and not (is_read or is_former) and label not in workload.labels:
                problem = "is not on the job itself, and Kueue does not read it here"
                yield Found((*path, label), problem, f"move it to metadata.labels of the {workload.kind}")


@warning(
    "Kueue reads labels by their exact name ([list](https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/))"
)
def unknown_queue_label(workload: WorkloadView) -> Iterator[Found]:
    """A label that is almost one of Kueue's."""
    for path, content, _ in _metadata(workload):
        for key in content:
            prefix, slash, name = key.partition("/") if isinstance(key, str) else ("", "", "")
            if not slash or name in _OTHERS or (prefix == _PREFIX and name in _ON_JOBS):
                continue
            plain = re.sub("[-_]", "", name)
            close = [one for one in _ON_JOBS if one.replace("-", "").startswith(plain) and plain]
            close = close or get_close_matches(name, _ON_JOBS, n=1, cutoff=0.75)
            if close and (prefix == _PREFIX or _OTHER_PREFIX.fullmatch(prefix)):
                yield Found((*path, key), "is no label of Kueue", f"write {_PREFIX}/{close[0]}")
