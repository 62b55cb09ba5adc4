"""Rules on the parameters of a storage class of FSx for Lustre, and on claims beside their volumes.

https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/v1.7.0/pkg/driver/controller.go (CreateVolume)
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from training_workloads.catalog.lustre import LUSTRE_THROUGHPUTS
from training_workloads.lint.rule import Found, error
from training_workloads.lint.rules.storage_rules import Storage, lustre_parameters
from training_workloads.manifests.values import amount_of, is_placeholder, mapping, names_placeholder, sequence
from training_workloads.validation import known_names

_PARAMETERS = (
    *("subnetId", "securityGroupIds", "autoImportPolicy", "s3ImportPath", "s3ExportPath", "deploymentType", "kmsKeyId"),
    *("perUnitStorageThroughput", "storageType", "driveCacheType", "automaticBackupRetentionDays"),
    *("dailyAutomaticBackupStartTime", "copyTagsToBackups", "dataCompressionType", "weeklyMaintenanceStartTime"),
    *("fileSystemTypeVersion", "extraTags", "efaEnabled", "metadataConfigurationMode", "metadataIops"),
    *("throughputCapacity", "dataReadCacheSizingMode", "dataReadCacheSizeGiB", "skipFinalBackup"),
)

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
_WORDS = {
    "deploymentType": ("SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"),
    "storageType": ("SSD", "HDD", "INTELLIGENT_TIERING"),
    "dataCompressionType": ("NONE", "LZ4"),
    "autoImportPolicy": ("NONE", "NEW", "NEW_CHANGED", "NEW_CHANGED_DELETED"),
    "driveCacheType": ("NONE", "READ"),
}


@error(
    "The driver ignores what it does not know ([CreateVolume]("
    "https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/v1.7.0/pkg/driver/controller.go))"
)
def lustre_parameter(storage: Storage) -> Iterator[Found]:
    """A parameter that the FSx driver does not know, and whose name looks like one that it knows."""
    for name in lustre_parameters(storage) or {}:
        close = get_close_matches(str(name).lower(), [known.lower() for known in _PARAMETERS], 1, 0.8)
        if name not in _PARAMETERS and close:
            yield Found(("parameters", str(name)), "is no parameter of the driver", known_names(str(name), _PARAMETERS))


@error(
    "FSx rejects it ([API](https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html))"
)
def lustre_parameter_value(storage: Storage) -> Iterator[Found]:
    """A value that a parameter of FSx for Lustre does not take, such as a throughput of another deployment type."""
    parameters = lustre_parameters(storage) or {}
    for name, words in _WORDS.items():
        value = parameters.get(name)
        if isinstance(value, str) and value and value not in words and not is_placeholder(value):
            yield Found(("parameters", name), f"is {value!r}, and FSx rejects it", known_names(value, words))
    kind, throughput = str(parameters.get("deploymentType")), parameters.get("perUnitStorageThroughput")
    allowed = LUSTRE_THROUGHPUTS.get(kind, ()) if kind == "PERSISTENT_2" else ()
    if allowed and isinstance(throughput, str) and throughput.isdecimal() and int(throughput) not in allowed:
        problem = f"is {throughput}, which FSx does not have for {kind}"
        fix = f"give one of {', '.join(map(str, allowed))}, in quotes"
        yield Found(("parameters", "perUnitStorageThroughput"), problem, fix)


def _volume_of(storage: Storage) -> Mapping[Any, Any]:
    """Return the spec of the volume that a claim names, if the file has it; empty otherwise."""
    wanted = storage.spec.get("volumeName") if storage.kind == "PersistentVolumeClaim" else None
    volumes = storage.others("PersistentVolume") if wanted else ()
    found = (volume for volume in volumes if mapping(volume.get("metadata")).get("name") == wanted)
    return mapping(mapping(next(found, {})).get("spec"))


@error(
    "The claim stays Pending: VolumeMismatch ([Kubernetes](https://kubernetes.io/docs/concepts/storage/persistent-volumes/#binding))"
)
def claim_differs_from_volume(storage: Storage) -> Iterator[Found]:
    """A claim of another class, more space or another access mode than the volume that it names has."""
    volume, claim = _volume_of(storage), storage.spec
    if not volume:
        return
    name = claim.get("volumeName")
    ours, theirs = claim.get("storageClassName"), volume.get("storageClassName") or ""
    if isinstance(ours, str) and ours != theirs and not names_placeholder(ours, theirs):
        problem = f"is {ours!r}, but the volume {name} has {theirs!r}, and the claim stays Pending"
        yield Found(("spec", "storageClassName"), problem, f"write {theirs!r}")
    wanted = mapping(mapping(claim.get("resources")).get("requests")).get("storage")
    capacity = mapping(volume.get("capacity")).get("storage")
    needed, there = amount_of(wanted), amount_of(capacity)
    if needed is not None and there is not None and needed > there:
        problem = f"is {wanted}, but the volume {name} has {capacity}, and the claim stays Pending"
        yield Found(("spec", "resources", "requests", "storage"), problem, f"request {capacity} or less")
    modes = [mode for mode in sequence(claim.get("accessModes")) if mode not in sequence(volume.get("accessModes"))]
    if modes and volume.get("accessModes") and not any(map(is_placeholder, modes)):
        problem = f"has {modes[0]}, which the volume {name} does not have, and the claim stays Pending"
        yield Found(("spec", "accessModes"), problem, "give the volume's access modes")
