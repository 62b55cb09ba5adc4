"""Rules on the images of pods that work together: their versions, and what they can run on."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from training_workloads.catalog.framework_images import shown_capability, supported_compute_capabilities
from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.node_types import node_types
from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container
from training_workloads.manifests.values import is_placeholder
from training_workloads.manifests.workload import WorkloadView
from training_workloads.names import image_fix
from training_workloads.validation import Path


class _Image(NamedTuple):
    """An image's address.

    Attributes:
        path: Where it is written.
        name: It without tag and digest.
        tag: Its tag; `latest` where it has neither tag nor digest.
    """

    path: Path
    name: str
    tag: str


def _images(containers: Iterator[Container]) -> Iterator[_Image]:
    for container in containers:
        image = container.content.get("image")
        if isinstance(image, str) and image and not is_placeholder(image, capitals=True) and not image_fix(image):
            address, _, digest = image.partition("@")
            folder, slash, last = address.rpartition("/")
            name, _, tag = last.partition(":")
            yield _Image((*container.path, "image"), f"{folder}{slash}{name}", tag or ("" if digest else "latest"))


@warning("Ranks and launcher of different versions may not understand each other (derived)")
def different_images(workload: WorkloadView) -> Iterator[Found]:
    """Pods of one job with different tags of one image."""
    tags: dict[str, str] = {}
    for image in _images(container for pods in workload.groups for container in pods.containers[:1]):
        first = tags.setdefault(image.name, image.tag)
        # `2.15.0` and `2.15.0-gpu` are two images.
        same_variant = re.findall(r"[a-z]+", first.lower()) == re.findall(r"[a-z]+", image.tag.lower())
        if first != image.tag and same_variant and "latest" not in (first, image.tag) and first and image.tag:
            problem = f"has the tag {image.tag}, but other pods of the job run {first}"
            yield Found(image.path, problem, "write the same tag in all of them")


# Images of frameworks without CUDA, as `name:tag`: TensorFlow's own without `gpu`, and AWS's and Horovod's with `cpu`.
_WITHOUT_CUDA = re.compile(
    r"(docker\.io/)?tensorflow/tensorflow:(?!.*gpu).*"
    r"|.*\.dkr\.ecr\..*/(tensorflow|pytorch|mxnet)-(training|inference)(-\w+)?:.*-cpu-.*"
    r"|(docker\.io/)?horovod/horovod-cpu:.*"
)


@error(
    "Its code or its cuDNN does not run on that GPU ([compatibility](https://docs.nvidia.com/cuda/"
    "blackwell-compatibility-guide)); [images](images.md) has the page of each"
)
def image_and_gpu(workload: WorkloadView) -> Iterator[Found]:
    """A public image of a framework on GPUs that it does not support."""
    for pods in workload.rank_groups:
        gpus = {one.gpu.model: one.gpu for one in node_types(pods) if one.gpu}
        for image in _images(one for one in pods.containers if one.amount(GPU_RESOURCE)):
            supported = supported_compute_capabilities(f"{image.name}:{image.tag}")
            wrong = [gpu for gpu in gpus.values() if supported and not supported.includes(gpu)]
            if wrong:
                capability = shown_capability(wrong[0].compute_capability)
                problem = f"is for other GPUs: {supported}, but {wrong[0].model} has {capability}"
                yield Found(image.path, problem, "choose a version for that GPU, or another type")


@error(
    "The framework in it has no CUDA, and does not see the GPUs ([TensorFlow](https://www.tensorflow.org/install/"
    "docker), [AWS](https://aws.github.io/deep-learning-containers/reference/available_images/))"
)
def image_without_cuda(workload: WorkloadView) -> Iterator[Found]:
    """An image for CPUs in a container with GPUs."""
    for image in _images(one for one in workload.containers if one.amount(GPU_RESOURCE)):
        if _WITHOUT_CUDA.fullmatch(f"{image.name}:{image.tag}"):
            problem = "is an image for CPUs, and its framework does not see the container's GPUs"
            yield Found(image.path, problem, "write the tag for GPUs")


# Built on the machine where it runs.
_LOCAL = "localhost/"

# Of which any version does.
_PLAIN = {"alpine", "busybox", "bash", "python", "ubuntu", "debian"}


@warning(
    "A node that has pulled it keeps what the tag meant then, and a new node pulls what it means now ([Kubernetes]("
    "https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy))"
)
def floating_image_tag(workload: WorkloadView) -> Iterator[Found]:
    """The tag `latest`, or none, with `imagePullPolicy: IfNotPresent`, for the ranks of several pods."""
    seen: set[str] = set()
    # Kubernetes' own policy for the tag latest is Always, which gives all pods of a job one version.
    several = sum(pods.replicas or 0 for pods in workload.rank_groups) > 1
    kept = (one for one in workload.containers if several and one.content.get("imagePullPolicy") == "IfNotPresent")
    for image in _images(kept):
        if image.name.removeprefix("docker.io/").removeprefix("library/") in _PLAIN:
            continue
        if image.tag == "latest" and image.name not in seen and not image.name.startswith(_LOCAL):
            seen.add(image.name)
            problem = "has the tag latest, or none, and IfNotPresent: nodes keep the version that they pulled first"
            yield Found(image.path, problem, "write the version's tag, or its digest")
