"""The files that a user submits: their documents, and the claims that their pods mount."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS
from training_workloads.mpijob.documents import MANIFEST_SUFFIXES, Document, read_documents
from training_workloads.names import DNS_LABEL, DNS_LABEL_RULE
from training_workloads.validation import InputError, refuse

__all__ = ["claims_of", "images_of", "is_job", "read_manifest", "read_manifests"]

# Whatever else a kind's rule for names is:
# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
_PATH_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/%]+")
_API_VERSION = re.compile(rf"([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?{DNS_LABEL}")


def read_manifests(given: Iterable[Path]) -> list[tuple[Path, list[Document]]]:
    """The Kubernetes objects of files, and of the YAML and JSON files in folders (not in folders inside these).

    Raises:
        InputError: One or more of them cannot be submitted; the error has one argument for each.
    """
    files: dict[Path, None] = {}
    read: dict[Path, list[Document]] = {}
    mistakes: list[str] = []
    for path in given:
        with _collecting(path, mistakes):
            files |= dict.fromkeys(_files(path))
    for path in files:
        with _collecting(path, mistakes):
            read[path] = read_manifest(path)
    refuse(mistakes)
    return list(read.items())


def read_manifest(path: Path) -> list[Document]:
    """The Kubernetes objects of a YAML file, each with the lines on which it stands.

    Raises:
        InputError: There is no such file, it is no YAML, or a document is no object with a kind and a name.
    """
    given = f"'file' is {str(path)!r}"
    if not path.exists():
        raise InputError(f"{given}, which does not exist; 'training-workloads render' writes manifests into dist/jobs")
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
        _check_address(f"{given}, whose document {number} has", document.content)
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


@contextmanager
def _collecting(path: Path, mistakes: list[str]) -> Iterator[None]:
    """Notes what is wrong with a file, and goes on with the next."""
    try:
        yield
    except InputError as error:
        mistakes += error.args
    except OSError as error:
        mistakes.append(f"'file' is {str(path)!r}, which cannot be read ({error.strerror}); give a manifest")


def _files(given: Path) -> list[Path]:
    """The file itself, or those in the folder, by name."""
    if not given.is_dir():
        return [given]
    inside = sorted(path for path in given.iterdir() if path.suffix in MANIFEST_SUFFIXES and path.is_file())
    if not inside:
        raise InputError(
            f"'file' is {str(given)!r}, a folder without {', '.join(MANIFEST_SUFFIXES)} files; give manifests"
        )
    return inside


def _check_address(beginning: str, document: dict[str, Any]) -> None:
    """Refuses what would lead to another address of the API than that of the object."""
    metadata = document["metadata"]
    fields = (
        ("apiVersion", document["apiVersion"], _API_VERSION, "a version of an API, such as batch/v1"),
        ("metadata.name", metadata["name"], _PATH_SEGMENT, "a name without '/' and '%'"),
        ("metadata.namespace", metadata.get("namespace") or "default", re.compile(DNS_LABEL), DNS_LABEL_RULE),
    )
    for field, value, form, rule in fields:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise InputError(f"{beginning} the {field} {value!r}; give {rule}")


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
