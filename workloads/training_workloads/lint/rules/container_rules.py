"""Rules on containers that the API server rejects when the operator creates the pods: it accepts the MPIJob itself.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#Container
"""

import re
from collections.abc import Iterator, Mapping

from training_workloads.lint.finding import Found
from training_workloads.mpijob.launch_command import LAUNCHERS, program_of
from training_workloads.mpijob.view import Container, MpiJobView, Replica, mapping, sequence
from training_workloads.names import image_fix

__all__ = [
    "command_in_one_word",
    "container_names",
    "empty_container",
    "image_address",
    "missing_image",
    "mount_paths",
    "unknown_volume",
]

_PLACEHOLDER = re.compile(r"[$<{]")

_LISTS = ("initContainers", "containers")

# Volumes that the operator adds to the pods
# (https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go).
_OPERATORS_VOLUMES = {"mpi-job-config", "ssh-auth"}


def _containers(replica: Replica) -> Iterator[Container]:
    """Yield the containers of a pod, with its init containers."""
    for name in _LISTS:
        for number, one in enumerate(sequence(replica.pod.get(name))):
            if isinstance(one, Mapping):
                yield Container(path=(*replica.pod_path, name, number), content=one)


def empty_container(job: MpiJobView) -> Iterator[Found]:
    """A null in a list of containers, such as a lone dash."""
    for replica in job.replicas:
        for name in _LISTS:
            for number, one in enumerate(sequence(replica.pod.get(name))):
                if one is None:
                    path = (*replica.pod_path, name, number)
                    yield Found(path, "is empty, and the pod is rejected", "give a container, or remove the line")


def missing_image(job: MpiJobView) -> Iterator[Found]:
    """A container without an image."""
    for replica in job.replicas:
        for container in _containers(replica):
            if container.content.get("image") in (None, ""):
                problem = "is missing, and the pod is rejected"
                yield Found((*container.path, "image"), problem, "give the image that the container runs")


def image_address(job: MpiJobView) -> Iterator[Found]:
    """An image in a form that no node can pull."""
    for replica in job.replicas:
        for container in _containers(replica):
            image = container.content.get("image")
            # A placeholder may stand for any address.
            if isinstance(image, str) and image and not _PLACEHOLDER.search(image) and (fix := image_fix(image)):
                problem = f"is {image!r}, and the pod waits with InvalidImageName"
                yield Found((*container.path, "image"), problem, fix)


def container_names(job: MpiJobView) -> Iterator[Found]:
    """Two containers of one pod with the same name."""
    for replica in job.replicas:
        seen: set[str] = set()
        for container in _containers(replica):
            name = container.content.get("name")
            if isinstance(name, str) and name in seen:
                problem = f"is {name!r}, as another container's of this pod, and the pod is rejected"
                yield Found((*container.path, "name"), problem, "give each container another name")
            seen |= {name} if isinstance(name, str) else set()


def unknown_volume(job: MpiJobView) -> Iterator[Found]:
    """A mount of a volume that the pod does not have."""
    for replica in job.replicas:
        volumes = [mapping(volume).get("name") for volume in sequence(replica.pod.get("volumes"))]
        known = sorted({name for name in volumes if isinstance(name, str)})
        for container in _containers(replica):
            for number, mount in enumerate(map(mapping, sequence(container.content.get("volumeMounts")))):
                name = mount.get("name")
                if not isinstance(name, str) or name in _OPERATORS_VOLUMES.union(known):
                    continue
                # A placeholder may stand for any name.
                if not any("$" in one for one in (name, *known)):
                    problem = f"is {name!r}, which is not a volume of the {replica.role}'s pod, and the pod is rejected"
                    fix = f"add it to volumes, or mount one of {', '.join(known)}" if known else "add it to volumes"
                    yield Found((*container.path, "volumeMounts", number, "name"), problem, fix)


def mount_paths(job: MpiJobView) -> Iterator[Found]:
    """Two mounts of one container at the same path."""
    for replica in job.replicas:
        for container in _containers(replica):
            seen: set[str] = set()
            for number, mount in enumerate(map(mapping, sequence(container.content.get("volumeMounts")))):
                path = mount.get("mountPath")
                if isinstance(path, str) and path in seen:
                    problem = f"is {path!r}, as another mount's of this container, and the pod is rejected"
                    place = (*container.path, "volumeMounts", number, "mountPath")
                    yield Found(place, problem, "mount each volume at another path")
                seen |= {path} if isinstance(path, str) else set()


def command_in_one_word(job: MpiJobView) -> Iterator[Found]:
    """A whole command line as the first word of `command`: no shell splits it, and no program has such a name."""
    for replica in job.replicas:
        for container in _containers(replica):
            first = next(iter(sequence(container.content.get("command"))), None)
            words = first.split() if isinstance(first, str) else []
            if len(words) > 1 and program_of(words[:1]) in LAUNCHERS:
                problem = f"begins with {first!r} as one word, and no program has that name"
                fix = f"write each word separately: [{words[0]}, {words[1]}, ...], or start it with [sh, -c, ...]"
                yield Found((*container.path, "command", 0), problem, fix)
