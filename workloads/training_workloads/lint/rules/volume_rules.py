"""Rules on volumes and mounts that the API server rejects when the pods are created.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#volumes
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, sequence

# Volumes that the operator adds to the pods
# (https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go).
_OPERATORS_VOLUMES = {"mpi-job-config", "ssh-auth"}


@error('The pod is rejected: "Not found"')
def unknown_volume(pods: PodGroup) -> Iterator[Found]:
    """A mount of a volume that the pod does not have."""
    volumes = [mapping(volume).get("name") for volume in sequence(pods.pod.get("volumes"))]
    known = sorted({name for name in volumes if isinstance(name, str)})
    for container in pods.all_containers:
        for number, mount in enumerate(map(mapping, sequence(container.content.get("volumeMounts")))):
            name = mount.get("name")
            if not isinstance(name, str) or name in _OPERATORS_VOLUMES.union(known):
                continue
            if not any(map(is_placeholder, (name, *known))):
                problem = f"is {name!r}, which is not a volume of the {pods.role}'s pod, and the pod is rejected"
                fix = f"add it to volumes, or mount one of {', '.join(known)}" if known else "add it to volumes"
                yield Found((*container.path, "volumeMounts", number, "name"), problem, fix)


@error('The pod is rejected: "must be unique"')
def mount_paths(pods: PodGroup) -> Iterator[Found]:
    """Two mounts of one container at the same path."""
    for container in pods.all_containers:
        seen: set[str] = set()
        for number, mount in enumerate(map(mapping, sequence(container.content.get("volumeMounts")))):
            path = mount.get("mountPath")
            if isinstance(path, str) and path in seen:
                problem = f"is {path!r}, as another mount's of this container, and the pod is rejected"
                place = (*container.path, "volumeMounts", number, "mountPath")
                yield Found(place, problem, "mount each volume at another path")
            seen |= {path} if isinstance(path, str) else set()
