"""Reads the MPIJob of a manifest file."""

from pathlib import Path
from typing import Any

import yaml

from training_workloads.mpijob.spec import KIND
from training_workloads.validation import InputError

__all__ = ["claim_mounts", "first_container", "load_mpi_job", "words"]


def load_mpi_job(path: Path) -> dict[str, Any]:
    """Reads the one MPIJob of a manifest file.

    Args:
        path: The file; what else it holds is left alone.

    Raises:
        InputError: There is no such file, it is no YAML, or it does not hold exactly one MPIJob.
    """
    if not path.is_file():
        rendered = ", ".join(map(str, sorted(path.parent.glob("*.k8s.yaml")))) or "none yet"
        raise InputError(
            f"'manifest' is {str(path)!r}, which is not a file; 'training-workloads render' writes them, so far: "
            f"{rendered}"
        )
    try:
        documents = [document for document in yaml.safe_load_all(path.read_text()) if isinstance(document, dict)]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"'manifest' is {str(path)!r}, which is not YAML: {error}") from error
    jobs = [document for document in documents if document.get("kind") == KIND]
    if len(jobs) != 1:
        found = ", ".join(str(document.get("kind")) for document in documents) or "nothing"
        raise InputError(
            f"'manifest' is {str(path)!r}, which holds {found}; only the launcher of an {KIND} can run here, so give "
            f"a file with exactly one {KIND}"
        )
    return jobs[0]


def first_container(job: dict[str, Any], role: str) -> dict[str, Any]:
    """The container of a role that the operator would use: the first.

    Args:
        job: The MPIJob.
        role: `Launcher` or `Worker`.

    Raises:
        InputError: The job has none.
    """
    try:
        container = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
    except (KeyError, IndexError, TypeError) as error:
        path = f"spec.mpiReplicaSpecs.{role}.template.spec.containers[0]"
        raise InputError(f"the manifest has no '{path}'; render it again, or compare it with one that is") from error
    return dict(container)


def words(container: dict[str, Any], field: str) -> list[str]:
    """A list of words in a container of the launcher: its `command` or its `args`.

    Raises:
        InputError: It is no list.
    """
    found = container.get(field) or []
    if not isinstance(found, list):
        raise InputError(f"the launcher's '{field}' is {found!r}; write a list of words")
    return [str(word) for word in found]


def claim_mounts(job: dict[str, Any]) -> list[str]:
    """Where the workers mount claims, such as that of the shared file system."""
    mounts = first_container(job, "Worker").get("volumeMounts", [])
    volumes = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].get("volumes", [])
    claims = {volume["name"] for volume in volumes if "persistentVolumeClaim" in volume}
    return [mount["mountPath"] for mount in mounts if mount["name"] in claims]
