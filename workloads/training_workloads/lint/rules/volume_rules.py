"""Rules on volumes and mounts that the API server rejects when the pods are created.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#volumes
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, names_placeholder, sequence

# Volumes that the operator adds to the pods
# (https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go).
_OPERATORS_VOLUMES = {"mpi-job-config", "ssh-auth"}


@error(validated_by("ValidateVolumeMounts", 'The pod is rejected: "Not found"'))
def unknown_volume(pods: PodGroup) -> Iterator[Found]:
    """A mount of a volume that the pod does not have."""
    volumes = [mapping(volume).get("name") for volume in sequence(pods.pod.get("volumes"))]
    known = sorted({name for name in volumes if isinstance(name, str)})
    for container in pods.all_containers if pods.is_whole else ():
        # Misplaced, which another rule reports.
        if "volumes" in container.content:
            continue
        for number, mount in enumerate(container.volume_mounts):
            name = mount.get("name")
            if not isinstance(name, str) or name in _OPERATORS_VOLUMES.union(known):
                continue
            if not names_placeholder(name, *known):
                problem = f"is {name!r}, which is not a volume of the {pods.role}'s pod, and the pod is rejected"
                fix = f"add it to volumes, or mount one of {', '.join(known)}" if known else "add it to volumes"
                yield Found((*container.path, "volumeMounts", number, "name"), problem, fix)


# Volumes that have files before the pod starts.
_WITH_FILES = ("persistentVolumeClaim", "nfs", "csi")


@warning(
    "Its files are in no container ([Kubernetes](https://kubernetes.io/docs/concepts/storage/volumes/#how-volumes-work))"
)
def unmounted_volume(pods: PodGroup) -> Iterator[Found]:
    """A volume with files that no container of the pod mounts."""
    mounts = places(pods.template, f"{CONTAINERS}.volumeMounts|volumeDevices[].name")
    used = {mount.value for mount in mounts if isinstance(mount.value, str)}
    names = {place.value for place in places(pods.template, "spec.volumes[].name") if isinstance(place.value, str)}
    # A mount of another name is meant for one of them.
    # A launcher often has the workers' volumes too, and needs none of them.
    is_clear = (
        pods.role != "Launcher" and pods.is_whole and not _has_other_mounts(pods) and used <= names | _OPERATORS_VOLUMES
    )
    for path, value in places(pods.template, "spec.volumes[]", pods.template_path) if is_clear else ():
        name = mapping(value).get("name")
        has_files = any(mapping(value).get(source) for source in _WITH_FILES)
        if has_files and isinstance(name, str) and name not in used and not names_placeholder(name, *used):
            problem = f"is {name!r}, which no container of the {pods.role}'s pod mounts"
            yield Found((*path, "name"), problem, "add it to volumeMounts, or remove the volume")


def _has_other_mounts(pods: PodGroup) -> bool:
    """Return whether containers have mounts in a field that is misspelled, or are no list."""
    known = {"volumemounts", "volumedevices"}
    names = {str(key).lower() for one in pods.all_containers for key in one.content}
    # A mapping of names to containers reads as one container.
    unnamed = any(not {"name", "image"} & set(one.content) for one in pods.containers)
    return unnamed or any(name.startswith(("volume", "mount")) for name in names - known)


@error(validated_by("ValidateVolumeMounts", 'The pod is rejected: "must be unique"'))
def mount_paths(pods: PodGroup) -> Iterator[Found]:
    """Two mounts of one container at the same path."""
    for container in pods.all_containers:
        seen: set[str] = set()
        for number, mount in enumerate(container.volume_mounts):
            path = mount.get("mountPath")
            if isinstance(path, str) and path in seen and not is_placeholder(path, capitals=True):
                problem = f"is {path!r}, as another mount's of this container, and the pod is rejected"
                place = (*container.path, "volumeMounts", number, "mountPath")
                yield Found(place, problem, "mount each volume at another path")
            seen |= {path} if isinstance(path, str) else set()


@error(
    "The runtime reads what follows as options ([API](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#volumes-1))"
)
def mount_path_form(pods: PodGroup) -> Iterator[Found]:
    """A mount at an empty path, or at one with a colon, as `docker run` writes options."""
    for path, value in places(pods.template, f"{CONTAINERS}.volumeMounts[].mountPath", pods.template_path):
        if value == "":
            yield Found(path, "is empty, and the pod is rejected", "give the path in the container")
        elif isinstance(value, str) and ":" in value and not is_placeholder(value, capitals=True):
            fix = f"write {value.partition(':')[0]}, and readOnly: true where it is only read"
            yield Found(path, f"is {value!r}, and a path must not have a ':'", fix)


@error(validated_by("validateLocalDescendingPath, ValidateVolumeMounts"))
def sub_path(pods: PodGroup) -> Iterator[Found]:
    """A part of a volume that is outside of it, or is given twice."""
    for path, value in places(pods.template, f"{CONTAINERS}.volumeMounts[].subPath|subPathExpr", pods.template_path):
        if isinstance(value, str) and not is_placeholder(value) and (value.startswith("/") or ".." in value.split("/")):
            problem = f"is {value!r}, which is not below the volume, and the pod is rejected"
            yield Found(path, problem, "give a path without a leading '/' and without '..'")
    for path, value in places(pods.template, f"{CONTAINERS}.volumeMounts[]", pods.template_path):
        if mapping(value).get("subPath") and mapping(value).get("subPathExpr"):
            yield Found((*path, "subPathExpr"), "is given with subPath, and the pod is rejected", "keep one of them")


# Fields of a volume's source that must have a text (validateHostPathVolumeSource, validateSecretVolumeSource,
# validateConfigMapVolumeSource, validatePersistentClaimVolumeSource, validateNFSVolumeSource).
_NEEDED = (
    *("hostPath.path", "secret.secretName", "configMap.name", "persistentVolumeClaim.claimName"),
    *("nfs.server", "nfs.path", "csi.driver"),
)


@error(validated_by("validateVolumeSource"))
def incomplete_source(pods: PodGroup) -> Iterator[Found]:
    """A volume's source without the name or path that it needs, or with an invalid path."""
    for field in _NEEDED:
        source, name = field.split(".")
        for path, value in places(pods.template, f"spec.volumes[].{source}", pods.template_path):
            given = mapping(value).get(name)
            if (
                isinstance(value, dict)
                and given in (None, "")
                and not (set(value) - {name, "readOnly", "type", "optional"})
            ):
                yield Found((*path, name), "is missing, and the pod is rejected", "add it")
            elif field == "hostPath.path" and isinstance(given, str) and ".." in given.split("/"):
                yield Found((*path, name), f"is {given!r}, and the pod is rejected", "give a path without '..'")
            elif (
                field == "nfs.path"
                and isinstance(given, str)
                and not given.startswith("/")
                and not is_placeholder(given, capitals=True)
            ):
                yield Found((*path, name), f"is {given!r}, and the pod is rejected", "give an absolute path")
