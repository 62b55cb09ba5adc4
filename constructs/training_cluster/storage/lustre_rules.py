"""What FSx for Lustre refuses: one rule, one function. What a single link may be stands in `data_repository_rules`.

A rule that needs a value which another rule refuses says nothing, so that every mistake is told once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Token

from training_cluster.checks import check_flag, shown
from training_workloads import InputError
from training_workloads.catalog.lustre import (
    LUSTRE_EFA_STEPS_GIB,
    LUSTRE_MAX_DATA_REPOSITORIES,
    LUSTRE_SMALLEST_GIB,
    LUSTRE_STEP_GIB,
    LUSTRE_THROUGHPUTS,
    lustre_capacity_gib,
)
from training_workloads.validation import check_at_least, check_one_of, refuse

if TYPE_CHECKING:
    from training_cluster.storage.lustre_spec import DataRepositorySpec, LustreSpec

__all__ = ["RULES"]


def deployment_type_is_known(spec: LustreSpec) -> None:
    """Older types cannot have a data repository association, or are slower for the same price."""
    check_one_of("deployment_type", spec.deployment_type, LUSTRE_THROUGHPUTS)


def throughput_is_a_class_of_persistent_storage(spec: LustreSpec) -> None:
    """SSD storage has four classes.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html
    """
    wanted = spec.throughput_mbps_per_tib
    if spec.deployment_type == "PERSISTENT_2" and wanted is not None and not Token.is_unresolved(wanted):
        check_one_of("throughput_mbps_per_tib", wanted, LUSTRE_THROUGHPUTS["PERSISTENT_2"])


def scratch_storage_has_one_throughput(spec: LustreSpec) -> None:
    """FSx takes PerUnitStorageThroughput with persistent storage only.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
    """
    if spec.deployment_type == "SCRATCH_2" and spec.throughput_mbps_per_tib is not None:
        raise InputError(
            f"'throughput_mbps_per_tib' is {spec.throughput_mbps_per_tib}, but SCRATCH_2 always has "
            f"{LUSTRE_THROUGHPUTS['SCRATCH_2'][0]}; leave it out, or use the deployment type PERSISTENT_2"
        )


def capacity_is_a_number(spec: LustreSpec) -> None:
    """A size that only the deployment knows is FSx's to check."""
    if not Token.is_unresolved(spec.capacity_gib):
        check_at_least("capacity_gib", spec.capacity_gib, 1)


def capacity_is_offered(spec: LustreSpec) -> None:
    """Sizes without EFA (StorageCapacity).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
    """
    offered = _offered_gib(spec, efa_throughput=None)
    if spec.efa is False and offered != spec.capacity_gib:
        raise InputError(
            f"'capacity_gib' is {spec.capacity_gib}, which Lustre does not offer; "
            f"give {LUSTRE_SMALLEST_GIB} or a multiple of {LUSTRE_STEP_GIB}, such as {offered}"
        )


def capacity_is_offered_with_efa(spec: LustreSpec) -> None:
    """EFA-enabled file systems come in steps that depend on the class.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    known = spec.deployment_type == "PERSISTENT_2" and spec.mbps_per_tib in list(LUSTRE_EFA_STEPS_GIB)
    if spec.efa is not True or not known:
        return
    offered = _offered_gib(spec, efa_throughput=spec.mbps_per_tib)
    if offered != spec.capacity_gib:
        step = LUSTRE_EFA_STEPS_GIB[spec.mbps_per_tib]
        smallest = min((gib, mbps) for mbps, gib in LUSTRE_EFA_STEPS_GIB.items())
        raise InputError(
            f"'capacity_gib' is {spec.capacity_gib}, but with EFA at {spec.mbps_per_tib} MB/s per TiB Lustre offers "
            f"multiples of {step}; give {offered}, or start at {smallest[0]} with a throughput of {smallest[1]}"
        )


def _offered_gib(spec: LustreSpec, *, efa_throughput: int | None) -> int:
    """The capacity itself where FSx offers it or where `capacity_is_a_number` has a say, else the next larger one."""
    capacity = spec.capacity_gib
    if Token.is_unresolved(capacity) or not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        return capacity
    return lustre_capacity_gib(capacity, efa_throughput=efa_throughput)


def efa_is_a_flag(spec: LustreSpec) -> None:
    """To Python 'no' is true."""
    check_flag("efa", spec.efa)


def efa_needs_persistent_storage(spec: LustreSpec) -> None:
    """Only PERSISTENT_2 can be EFA-enabled.

    https://pub.dev/documentation/pulumi_aws/latest/fsx/LustreFileSystem/efaEnabled.html
    """
    if spec.efa is True and spec.deployment_type == "SCRATCH_2":
        raise InputError("'efa' is true, but SCRATCH_2 has no EFA; leave it out, or use PERSISTENT_2")


def data_repositories_are_specs(spec: LustreSpec) -> None:
    """Neither None nor mappings: those are for the configuration file."""
    given: Any = spec.data_repositories
    if not isinstance(given, list | tuple):
        raise InputError(
            f"'data_repositories' is {shown(given)}; give a tuple of DataRepositorySpec(...), empty for no links"
        )
    refuse(
        f"'data_repositories' has {shown(each)}; give DataRepositorySpec(path=..., prefix=...)"
        for each in given
        if not _is_link(each)
    )


def _is_link(value: Any) -> bool:
    return hasattr(value, "path") and hasattr(value, "prefix")


def _links(spec: LustreSpec) -> list[DataRepositorySpec]:
    """The links, or those of them that are such."""
    given: Any = spec.data_repositories
    return [each for each in given if _is_link(each)] if isinstance(given, list | tuple) else []


def data_repositories_are_few(spec: LustreSpec) -> None:
    """A file system has at most 8 links.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    if (count := len(_links(spec))) > LUSTRE_MAX_DATA_REPOSITORIES:
        raise InputError(
            f"'data_repositories' has {count} links, but a file system takes {LUSTRE_MAX_DATA_REPOSITORIES}; "
            "link a common parent folder instead of several of its children"
        )


def paths_do_not_overlap(spec: LustreSpec) -> None:
    """Two links cannot have overlapping paths (FileSystemPath).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    paths = sorted(f"{repository.path.rstrip('/')}/" for repository in _links(spec))
    for number, path in enumerate(paths):
        if any(other.startswith(path) for other in paths[number + 1 :]):
            names = ", ".join(repository.path for repository in _links(spec))
            raise InputError(
                f"'data_repositories' has the paths {names}, of which one contains another; "
                "give folders side by side, such as /data and /runs"
            )


def prefixes_differ(spec: LustreSpec) -> None:
    """Each link has a bucket or prefix of its own.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    prefixes = [repository.prefix.rstrip("/") for repository in _links(spec)]
    for prefix in dict.fromkeys(prefixes):
        if prefixes.count(prefix) > 1:
            raise InputError(
                f"'data_repositories' has the prefix {prefix!r} more than once; "
                "give each link a prefix of its own, such as data and runs"
            )


RULES = (
    deployment_type_is_known,
    throughput_is_a_class_of_persistent_storage,
    scratch_storage_has_one_throughput,
    capacity_is_a_number,
    capacity_is_offered,
    capacity_is_offered_with_efa,
    efa_is_a_flag,
    efa_needs_persistent_storage,
    data_repositories_are_specs,
    data_repositories_are_few,
    paths_do_not_overlap,
    prefixes_differ,
)
