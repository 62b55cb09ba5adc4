"""Kind, size and speed of a Lustre file system, and what FSx rejects: one rule, one function.

A rule that needs a value which another rule rejects yields nothing, so that each problem is reported once.
"""

from dataclasses import dataclass
from typing import Any

from aws_cdk import Token

from training_cluster.checks import valid_flag
from training_cluster.storage.data_repository import DataRepository
from training_workloads.catalog.lustre import (
    LUSTRE_EFA_STEPS_GIB,
    LUSTRE_MAX_DATA_REPOSITORIES,
    LUSTRE_SMALLEST_GIB,
    LUSTRE_STEP_GIB,
    LUSTRE_THROUGHPUTS,
    lustre_capacity_gib,
)
from training_workloads.validation import Problem, Problems, at_least, enforce, one_of

__all__ = ["RULES", "LustreSpec"]

_ROOT_TO_ROOT = (DataRepository(),)


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreSpec:
    """A Lustre 2.15 file system on SSD; its files are compressed with LZ4.

    Attributes:
        deployment_type: `PERSISTENT_2`, which is replicated in its zone, or `SCRATCH_2`, which loses files when a
            server fails. Default: PERSISTENT_2.
        capacity_gib: Storage in GiB: 1200 or a multiple of 2400; with EFA a multiple of 38400, 19200, 9600 or 4800 for
            the four throughput classes. Default: 1200.
        throughput_mbps_per_tib: Throughput class of PERSISTENT_2 in MB/s per TiB of storage: 125, 250, 500 or 1000.
            Default: 125; SCRATCH_2 has 200 and no choice.
        efa: Whether clients can reach it with EFA, on PERSISTENT_2 only. Default: TCP only.
        data_repositories: Up to 8 folders that mirror prefixes of the bucket. Default: one, root to root. Empty: none.
    """

    deployment_type: str = "PERSISTENT_2"
    capacity_gib: int = LUSTRE_SMALLEST_GIB
    throughput_mbps_per_tib: int | None = None
    efa: bool = False
    data_repositories: tuple[DataRepository, ...] = _ROOT_TO_ROOT

    def __post_init__(self) -> None:
        """Check what FSx would reject."""
        enforce(self, RULES)

    @property
    def mbps_per_tib(self) -> int:
        """Throughput of each TiB in MB/s: the class that was given, else the deployment type's first."""
        if self.throughput_mbps_per_tib is not None:
            return self.throughput_mbps_per_tib
        return LUSTRE_THROUGHPUTS[self.deployment_type][0]


def deployment_type_is_known(spec: LustreSpec) -> Problems:
    """Reject older types, which cannot have a data repository association, or are slower for the same price."""
    yield from one_of("deployment_type", spec.deployment_type, LUSTRE_THROUGHPUTS)


def throughput_is_a_class_of_persistent_storage(spec: LustreSpec) -> Problems:
    """Reject what is not one of the four classes of SSD storage.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html
    """
    wanted = spec.throughput_mbps_per_tib
    if spec.deployment_type == "PERSISTENT_2" and wanted is not None and not Token.is_unresolved(wanted):
        yield from one_of("throughput_mbps_per_tib", wanted, LUSTRE_THROUGHPUTS["PERSISTENT_2"])


def scratch_storage_has_one_throughput(spec: LustreSpec) -> Problems:
    """Reject a class with SCRATCH_2: FSx accepts PerUnitStorageThroughput with persistent storage only.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html
    """
    if spec.deployment_type == "SCRATCH_2" and spec.throughput_mbps_per_tib is not None:
        yield Problem(
            path=("throughput_mbps_per_tib",),
            given=spec.throughput_mbps_per_tib,
            allowed=f"SCRATCH_2 always has {LUSTRE_THROUGHPUTS['SCRATCH_2'][0]}",
            fix="omit it, or use the deployment type PERSISTENT_2",
            related=(("deployment_type",),),
        )


def capacity_is_a_number(spec: LustreSpec) -> Problems:
    """Reject what is not a size; FSx checks a token."""
    if not Token.is_unresolved(spec.capacity_gib):
        yield from at_least("capacity_gib", spec.capacity_gib, 1)


def capacity_is_offered(spec: LustreSpec) -> Problems:
    """Reject other sizes than those without EFA (StorageCapacity).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
    """
    offered = _offered_gib(spec, efa_throughput=None)
    if spec.efa is False and offered != spec.capacity_gib:
        yield Problem(
            path=("capacity_gib",),
            given=spec.capacity_gib,
            allowed="Lustre does not offer this size",
            fix=f"give {LUSTRE_SMALLEST_GIB} or a multiple of {LUSTRE_STEP_GIB}, such as {offered}",
        )


def capacity_is_offered_with_efa(spec: LustreSpec) -> Problems:
    """Reject sizes between the steps of EFA-enabled file systems, which depend on the class.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    known = spec.deployment_type == "PERSISTENT_2" and spec.mbps_per_tib in list(LUSTRE_EFA_STEPS_GIB)
    if spec.efa is not True or not known:
        return
    offered = _offered_gib(spec, efa_throughput=spec.mbps_per_tib)
    if offered != spec.capacity_gib:
        step = LUSTRE_EFA_STEPS_GIB[spec.mbps_per_tib]
        least, fastest = min((gib, mbps) for mbps, gib in LUSTRE_EFA_STEPS_GIB.items())
        yield Problem(
            path=("capacity_gib",),
            given=spec.capacity_gib,
            allowed=f"with EFA at {spec.mbps_per_tib} MB/s per TiB Lustre offers multiples of {step}",
            fix=f"give {offered}" + (f", or start at {least} with a throughput of {fastest}" if least < step else ""),
            related=(("efa",), ("throughput_mbps_per_tib",)),
        )


def _offered_gib(spec: LustreSpec, *, efa_throughput: int | None) -> int:
    """Return the capacity itself where FSx offers it or `capacity_is_a_number` rejects it, else the next larger one."""
    capacity = spec.capacity_gib
    if Token.is_unresolved(capacity) or not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        return capacity
    return lustre_capacity_gib(capacity, efa_throughput=efa_throughput)


def efa_is_a_flag(spec: LustreSpec) -> Problems:
    """Reject non-bools: 'no' is true to Python."""
    yield from valid_flag("efa", spec.efa)


def efa_needs_persistent_storage(spec: LustreSpec) -> Problems:
    """Reject EFA with SCRATCH_2: only PERSISTENT_2 can be EFA-enabled.

    https://pub.dev/documentation/pulumi_aws/latest/fsx/LustreFileSystem/efaEnabled.html
    """
    if spec.efa is True and spec.deployment_type == "SCRATCH_2":
        yield Problem(
            path=("efa",),
            given=True,
            allowed="SCRATCH_2 has no EFA",
            fix="omit it, or use PERSISTENT_2",
            related=(("deployment_type",),),
        )


def data_repositories_have_their_type(spec: LustreSpec) -> Problems:
    """Reject None and mappings, which are for the configuration file."""
    given: Any = spec.data_repositories
    if not isinstance(given, list | tuple):
        fix = "give a list of DataRepository(...), empty for none"
        yield Problem(path=("data_repositories",), given=given, fix=fix)
        return
    for number, each in enumerate(given):
        if not isinstance(each, DataRepository):
            fix = "give DataRepository(path=..., prefix=...)"
            yield Problem(path=("data_repositories", number), given=each, fix=fix)


def _repositories(spec: LustreSpec) -> list[tuple[int, DataRepository]]:
    """Return those that have their type, with their positions."""
    given: Any = spec.data_repositories
    listed = given if isinstance(given, list | tuple) else ()
    return [(number, each) for number, each in enumerate(listed) if isinstance(each, DataRepository)]


def data_repositories_are_few(spec: LustreSpec) -> Problems:
    """Reject more than 8.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    paths = [repository.path for _, repository in _repositories(spec)]
    if len(paths) > LUSTRE_MAX_DATA_REPOSITORIES:
        yield Problem(
            path=("data_repositories",),
            given=paths,
            allowed=f"a file system has at most {LUSTRE_MAX_DATA_REPOSITORIES}",
            fix="use a common parent folder instead of several of its children",
        )


def paths_do_not_overlap(spec: LustreSpec) -> Problems:
    """Reject paths of which one contains another (FileSystemPath).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    known: list[tuple[int, str]] = []
    for number, repository in _repositories(spec):
        path = f"{repository.path.rstrip('/')}/"
        for other_number, other in known:
            if path.startswith(other) or other.startswith(path):
                yield Problem(
                    path=("data_repositories", number, "path"),
                    given=repository.path,
                    allowed=f"it overlaps with {other.rstrip('/') or '/'}",
                    fix="give folders side by side, such as /data and /runs",
                    related=(("data_repositories", other_number, "path"),),
                )
                break
        known.append((number, path))


def prefixes_differ(spec: LustreSpec) -> Problems:
    """Reject a prefix that two data repositories share.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    first: dict[str, int] = {}
    for number, repository in _repositories(spec):
        earlier = first.setdefault(repository.prefix.rstrip("/"), number)
        if earlier != number:
            yield Problem(
                path=("data_repositories", number, "prefix"),
                given=repository.prefix,
                allowed=f"{spec.data_repositories[earlier].path} has the same",
                fix="give each data repository a different prefix, such as data and runs",
                related=(("data_repositories", earlier, "prefix"),),
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
    data_repositories_have_their_type,
    data_repositories_are_few,
    paths_do_not_overlap,
    prefixes_differ,
)
