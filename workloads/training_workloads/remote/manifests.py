"""The files that a user submits: their documents, and the claims that their pods mount."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training_workloads.errors import InputError
from training_workloads.lint.documents import Document, read_documents
from training_workloads.remote.resources import BATCH_JOBS, MPI_JOBS

__all__ = ["claims_of", "images_of", "is_job", "read_manifest"]


def read_manifest(path: Path) -> list[Document]:
    """The Kubernetes objects of a YAML file, each with the lines on which it stands.

    Raises:
        InputError: There is no such file, it is no YAML, or a document is no object with a kind and a name.
    """
    given = f"'file' is {str(path)!r}"
    if not path.is_file():
        raise InputError(f"{given}, which is not a file; 'training-workloads render' writes manifests into dist/jobs")
    try:
        documents = [each for each in read_documents(path.read_text(encoding="utf-8")) if each.content is not None]
    except UnicodeDecodeError as error:
        raise InputError(f"{given}, which is not text; give a manifest") from error
    except InputError as error:
        raise InputError(f"{given}, which {error}") from error
    if not documents:
        raise InputError(f"{given}, which holds nothing; give a file that 'training-workloads render' wrote")
    for number, document in enumerate(documents, start=1):
        if not _is_object(document.content):
            raise InputError(
                f"{given}, whose document {number} is no Kubernetes object; each needs 'apiVersion', 'kind' and "
                "'metadata.name'"
            )
    return documents


def is_job(document: dict[str, Any]) -> bool:
    """Whether a document is what runs, rather than what comes along with it."""
    kinds = [(each.api_version, each.kind) for each in (MPI_JOBS, BATCH_JOBS)]
    return (document["apiVersion"], document["kind"]) in kinds


def claims_of(document: dict[str, Any]) -> set[str]:
    """Names of the PersistentVolumeClaims that the pods of a document mount."""
    return set(_claims(document))


def images_of(document: dict[str, Any]) -> set[str]:
    """Addresses of the images of a document's pods."""
    return set(_images(document))


def _is_object(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return False
    return all(isinstance(each, str) for each in (document.get("apiVersion"), document.get("kind"), _name(document)))


def _name(document: dict[str, Any]) -> Any:
    return document["metadata"].get("name")


def _claims(value: Any) -> Iterator[str]:
    """Wherever a pod template stands: an MPIJob has several, a Deployment or a Job one."""
    if isinstance(value, list):
        for each in value:
            yield from _claims(each)
    elif isinstance(value, dict):
        claim = value.get("persistentVolumeClaim")
        if isinstance(claim, dict) and "claimName" in claim:
            yield str(claim["claimName"])
        for each in value.values():
            yield from _claims(each)


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, dict):
        for field in ("containers", "initContainers"):
            listed = value.get(field)
            for container in listed if isinstance(listed, list) else []:
                if isinstance(container, dict) and "image" in container:
                    yield str(container["image"])
        for each in value.values():
            yield from _images(each)
