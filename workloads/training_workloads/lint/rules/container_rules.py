"""Rules on containers that the API server rejects when the pods are created: it accepts an MPIJob itself.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#Container
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, sequence
from training_workloads.names import image_fix

_LISTS = ("initContainers", "containers")


@error("The pod is rejected")
def empty_container(pods: PodGroup) -> Iterator[Found]:
    """A null in a list of containers, such as a lone dash."""
    for name in _LISTS:
        for number, one in enumerate(sequence(pods.pod.get(name))):
            if one is None:
                path = (*pods.pod_path, name, number)
                yield Found(path, "is empty, and the pod is rejected", "give a container, or remove the line")


@error("The MPIJob is accepted, its pods are rejected")
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
        if isinstance(image, str) and image and not is_placeholder(image) and (fix := image_fix(image)):
            problem = f"is {image!r}, and the pod waits with InvalidImageName"
            yield Found((*container.path, "image"), problem, fix)


@error('The pod is rejected: "Duplicate value"')
def container_names(pods: PodGroup) -> Iterator[Found]:
    """Two containers of one pod with the same name."""
    seen: set[str] = set()
    for container in pods.all_containers:
        name = container.content.get("name")
        if isinstance(name, str) and name in seen:
            problem = f"is {name!r}, as another container's of this pod, and the pod is rejected"
            yield Found((*container.path, "name"), problem, "give each container another name")
        seen |= {name} if isinstance(name, str) else set()
