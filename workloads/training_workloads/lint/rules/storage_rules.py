"""Rules on volumes, claims and storage classes, for FSx for Lustre above all.

https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/master/docs/README.md
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from training_workloads.catalog.versions import DEFAULT_LUSTRE_VERSION, LUSTRE_VERSION
from training_workloads.lint.misplaced import unknown_fields
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.rules.schema_rules import fix_of, problems_of
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.values import is_placeholder, mapping

__all__ = ["Storage", "lustre_parameters"]

_LUSTRE = "fsx.csi.aws.com"
_DRIVER = "https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/master/docs/README.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Storage:
    """A volume, claim or storage class, and the other documents of its file.

    Attributes:
        document: The object.
        neighbours: All documents of the same file, itself included.
    """

    document: Mapping[Any, Any]
    neighbours: Sequence[Mapping[Any, Any]]

    @property
    def kind(self) -> Any:
        """Its `kind`."""
        return self.document.get("kind")

    @property
    def spec(self) -> Mapping[Any, Any]:
        """Its `spec`."""
        return mapping(self.document.get("spec"))

    def others(self, kind: str) -> Iterator[Mapping[Any, Any]]:
        """Yield the neighbours of a kind."""
        return (other for other in self.neighbours if other.get("kind") == kind)


@error(
    "The API server rejects them, or drops them without a warning ([field validation]("
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation))"
)
def storage_fields(storage: Storage) -> Iterator[Found]:
    """Unknown fields of a volume, claim or storage class, and values of another type, such as a number as parameter."""
    document, kind = dict(storage.document), str(storage.kind)
    unknown = list(unknown_fields(kind, document))
    given = [field.meant for field in unknown]
    yield from (found for found in problems_of(kind, document, ()) if found.path not in given)
    for field in unknown:
        yield Found(field.path, "is not a field here, and is rejected or dropped without a warning", fix_of(field))


# Fields that ValidatePersistentVolume and ValidatePersistentVolumeClaimSpec need
# (https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go).
_NEEDED = {
    "PersistentVolume": (("capacity", "storage"), ("accessModes",)),
    "PersistentVolumeClaim": (("resources", "requests", "storage"), ("accessModes",)),
}


@error(validated_by("ValidatePersistentVolume, ValidatePersistentVolumeClaimSpec", "The API server rejects it"))
def incomplete_storage(storage: Storage) -> Iterator[Found]:
    """A volume or claim without its size or its access modes."""
    for path in _NEEDED.get(str(storage.kind), ()):
        value: Any = storage.document.get("spec")
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(storage.document.get("spec"), Mapping) and value in (None, []):
            yield Found(("spec", *path), "is missing, and the object is rejected", "add it")


def _lustre(storage: Storage) -> Mapping[Any, Any]:
    """Return the source of a volume on FSx for Lustre; empty for any other."""
    source = mapping(storage.spec.get("csi"))
    return source if storage.kind == "PersistentVolume" and source.get("driver") == _LUSTRE else {}


@error(
    "No CSI driver can; the volume is Failed when its claim is gone ([Kubernetes]("
    "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#recycle))"
)
def volume_recycled(storage: Storage) -> Iterator[Found]:
    """`Recycle` is for NFS and host paths: a CSI volume becomes Failed when its claim is deleted."""
    policy = storage.spec.get("persistentVolumeReclaimPolicy")
    if storage.kind == "PersistentVolume" and policy == "Recycle" and "csi" in storage.spec:
        problem = "is Recycle, which no CSI driver can do; the volume is Failed once its claim is gone"
        yield Found(("spec", "persistentVolumeReclaimPolicy"), problem, "write Retain, so that the data stays")


@error(f'The driver uses "fsx" as the mount name, which only SCRATCH_1 has ([driver]({_DRIVER}))')
def lustre_volume_attributes(storage: Storage) -> Iterator[Found]:
    """A static Lustre volume without its address: it needs the DNS name, and FSx's mount name."""
    attributes = mapping(_lustre(storage).get("volumeAttributes"))
    for name in ("dnsname", "mountname"):
        if _lustre(storage) and not attributes.get(name):
            unless = (
                ", and the driver uses 'fsx', which only SCRATCH_1 file systems have" if name == "mountname" else ""
            )
            path = ("spec", "csi", "volumeAttributes", name)
            yield Found(path, f"is missing{unless}", "give the file system's (aws fsx describe-file-systems)")


def _class(volume: Mapping[Any, Any]) -> Any:
    return mapping(volume.get("spec")).get("storageClassName") or ""


@warning(
    "A default class is filled in, and does not match a static volume "
    "([Kubernetes](https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass))"
)
def claim_without_class(storage: Storage) -> Iterator[Found]:
    """A claim for a static volume without a class: a cluster with a default class fills in that one."""
    is_static = storage.kind == "PersistentVolumeClaim" and bool(storage.spec.get("volumeName"))
    if is_static and storage.spec.get("storageClassName") is None:
        problem = "is missing: the cluster's default class is filled in, which a static volume does not have"
        yield Found(("spec", "storageClassName"), problem, 'write ""')


def lustre_parameters(storage: Storage) -> Mapping[Any, Any] | None:
    """Return the parameters of a storage class of FSx for Lustre; None for any other document."""
    if storage.kind == "StorageClass" and storage.document.get("provisioner") == _LUSTRE:
        return mapping(storage.document.get("parameters"))
    return None


@error("FSx rejects it (kubernetes-sigs/aws-fsx-csi-driver#412)")
def persistent_2_with_s3(storage: Storage) -> Iterator[Found]:
    """A PERSISTENT_2 file system cannot get a data repository when it is created (aws-fsx-csi-driver#412)."""
    parameters = lustre_parameters(storage) or {}
    if parameters.get("deploymentType") == "PERSISTENT_2" and parameters.get("s3ImportPath"):
        problem = "is for SCRATCH and PERSISTENT_1 only; FSx does not create the file system"
        fix = "create it outside of Kubernetes with a data repository association, and define a static volume for it"
        yield Found(("parameters", "s3ImportPath"), problem, fix)


@warning(
    "FSx's default is Lustre 2.10, or 2.12 for PERSISTENT_2 ([API](https://docs.aws.amazon.com/fsx/latest/APIReference/"
    "API_CreateFileSystem.html))"
)
def lustre_version_unset(storage: Storage) -> Iterator[Found]:
    """FSx's default is an old Lustre."""
    parameters = lustre_parameters(storage)
    if parameters is None or parameters.get("fileSystemTypeVersion"):
        return
    # Of an existing file system nothing is created; FSx chooses a new version for the others.
    is_newer = (
        parameters.get("deploymentType") == "PERSISTENT_2" or parameters.get("storageType") == "INTELLIGENT_TIERING"
    )
    if not is_newer and "fileSystemId" not in parameters:
        default = DEFAULT_LUSTRE_VERSION
        path = ("parameters", "fileSystemTypeVersion")
        yield Found(path, f"is missing, and FSx's default is Lustre {default}", f'write "{LUSTRE_VERSION}"')


# https://kubernetes-csi.github.io/docs/drivers.html
_DRIVERS = (
    *(_LUSTRE, "efs.csi.aws.com", "ebs.csi.aws.com", "s3.csi.aws.com", "fsx.openzfs.csi.aws.com"),
    *("file.cache.csi.aws.com", "fsx.ontap.csi.aws.com", "csi.trident.netapp.io", "secrets-store.csi.k8s.io"),
    *("ebs.csi.eks.amazonaws.com", "lustre.csi.storage.gke.io", "gcsfuse.csi.storage.gke.io"),
)


@error(
    "No driver of that name is there: the pod waits with FailedMount, the claim stays Pending "
    "([drivers](https://kubernetes-csi.github.io/docs/drivers.html))"
)
def storage_driver(storage: Storage) -> Iterator[Found]:
    """A CSI driver with almost the name of one of AWS."""
    source = mapping(storage.spec.get("csi"))
    named = {("spec", "csi", "driver"): source.get("driver"), ("provisioner",): storage.document.get("provisioner")}
    for path, name in named.items():
        if not isinstance(name, str) or name in _DRIVERS or is_placeholder(name):
            continue
        service = re.search(r"\b(fsx|efs|ebs|s3)\b", name) if re.search("aws|amazon", name) and "csi" in name else None
        close = get_close_matches(name, _DRIVERS, n=1, cutoff=0.85)
        if service or close:
            meant = f"{service[1]}.csi.aws.com" if service else close[0]
            yield Found(path, f"is {name!r}, which is no driver", f"write {meant}")
