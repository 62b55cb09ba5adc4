"""Kind, size, speed and data repositories of a Lustre file system, and what FSx rejects: one rule, one function."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from aws_cdk import Size, SizeRoundingBehavior
from aws_cdk import aws_fsx as fsx
from pydantic import Field

from training_cluster.checks import KnownChecked, valid_folder
from training_workloads.catalog.lustre import (
    LUSTRE_EFA_STEPS_GIB,
    LUSTRE_MAX_DATA_REPOSITORIES,
    LUSTRE_SMALLEST_GIB,
    LUSTRE_STEP_GIB,
    LUSTRE_THROUGHPUTS,
    lustre_capacity_gib,
)
from training_workloads.catalog.provisioned_storage import LustreStorage
from training_workloads.spec import Checked, Converted, Spec
from training_workloads.validation import InputError, Problem, Problems, at_least, is_late, matches, one_of

__all__ = ["WHOLE_GIB", "DataRepository", "LustreSpec"]

_CLASSES = LUSTRE_THROUGHPUTS["PERSISTENT_2"]


def _path(name: str, path: Any) -> Problems:
    """Require the leading slash, and reject a path that FSx would mirror under another name than clients see.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html (FileSystemPath)
    """
    form = r"/[^\0\x85\u2028\u2029\r\n]{0,4095}"
    yield from matches(name, path, form, "a folder from the root, such as /data")
    if isinstance(path, str) and ("//" in path or {".", ".."} & set(path.split("/"))):
        fix = "give the folder's path without '//', '.' and '..', such as /data"
        yield Problem(path=(name,), given=path, fix=fix)


def _prefix(name: str, prefix: Any) -> Problems:
    """Reject a leading slash, the bucket's name and text that is no folder to S3: no object has such a key."""
    form = r"(?!/)[^\0\x85\u2028\u2029\r\n]{0,1024}"
    rule = "the start of the objects' keys without a leading '/', or ''"
    yield from matches(name, prefix, form, rule)
    if isinstance(prefix, str) and not prefix.startswith("/"):
        yield from valid_folder(name, prefix)


class DataRepository(Spec):
    """A folder of the file system that mirrors a prefix of the bucket.

    Objects appear as files, with their metadata imported on creation; new and changed objects follow, and new and
    changed files are exported as objects.

    Attributes:
        path: Folder in the file system, with a leading `/`.
        prefix: Start of the objects' keys. Default: every object of the bucket.
        export_deletions: Whether `rm` on Lustre deletes the object in the bucket; needs the second key,
            `i_know_that_rm_deletes_objects`.
        i_know_that_rm_deletes_objects: Must also be true for `export_deletions`.
    """

    path: Annotated[str, Checked(_path)] = "/"
    prefix: Annotated[str, KnownChecked(_prefix)] = Field(default="", examples=["data/"])
    export_deletions: bool = False
    i_know_that_rm_deletes_objects: bool = False


@DataRepository.rule
def deleting_objects_takes_two_keys(repository: DataRepository) -> Problems:
    """Require both keys: with DELETED among the exported events `rm -r` on Lustre empties the bucket."""
    first, second = ("export_deletions",), ("i_know_that_rm_deletes_objects",)
    deletes, known = repository.export_deletions, repository.i_know_that_rm_deletes_objects
    if deletes and not known:
        yield Problem(
            path=first,
            given=True,
            allowed="then 'rm' on Lustre deletes the objects in S3",
            fix=f"set '{second[0]}' to true as well, or omit both to keep the objects",
            related=(second,),
        )
    if known and not deletes:
        yield Problem(
            path=second,
            given=True,
            allowed=f"without '{first[0]}' nothing is deleted",
            fix="set both to true, or omit both",
            related=(first,),
        )


def _gib(capacity: Any) -> Any:
    """Return a size in GiB; the rule rejects other objects and fractions."""
    if not isinstance(capacity, Size):
        return capacity
    try:
        gib = capacity.to_gibibytes(rounding=SizeRoundingBehavior.NONE)
    except RuntimeError:  # CDK converts no token from one unit to another.
        allowed = "a value that only the deployment knows must be in GiB"
        problem = Problem(path=(), given=capacity, allowed=allowed, fix="give Size.gibibytes(...)")
        raise InputError(problem) from None
    return int(gib) if not is_late(gib) and gib == int(gib) else gib


#: The check of a storage that is a size of the CDK or a whole number of GiB, and is kept as the number.
WHOLE_GIB = KnownChecked(at_least, 1, read=_gib)


def _few(name: str, repositories: Sequence[DataRepository]) -> Problems:
    """Reject more than 8.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    if len(repositories) > LUSTRE_MAX_DATA_REPOSITORIES:
        yield Problem(
            path=(name,),
            given=[repository.path for repository in repositories],
            allowed=f"a file system has at most {LUSTRE_MAX_DATA_REPOSITORIES}",
            fix="use a common parent folder instead of several of its children",
        )


class LustreSpec(Spec):
    """A Lustre 2.15 file system on SSD; its files are compressed with LZ4.

    Attributes:
        deployment_type: `PERSISTENT_2`, which is replicated in its zone, or `SCRATCH_2`, which loses files when a
            server fails.
        capacity_gib: Storage in GiB: 1200 or a multiple of 2400; with EFA a multiple of 38400, 19200, 9600 or 4800 for
            the four throughput classes.
        throughput_mbps_per_tib: Throughput class of PERSISTENT_2 in MB/s per TiB of storage: 125, 250, 500 or 1000.
            Default: 125; SCRATCH_2 has 200 and no choice.
        efa: Whether clients can reach it with EFA, on PERSISTENT_2 only; without, over TCP.
        data_repositories: Up to 8 folders that mirror prefixes of the bucket. Default: one, root to root. Empty: none.
    """

    deployment_type: Annotated[
        Converted[fsx.LustreDeploymentType | str, str],
        Checked(one_of, LUSTRE_THROUGHPUTS, read=lambda given: getattr(given, "value", given)),
    ] = Field(default="PERSISTENT_2", validate_default=True)
    capacity_gib: Annotated[Converted[Size | float, int], WHOLE_GIB] = Field(
        default=LUSTRE_SMALLEST_GIB, validate_default=True
    )
    throughput_mbps_per_tib: Annotated[float, KnownChecked(at_least, 1)] | None = Field(
        default=None, examples=[_CLASSES[0]]
    )
    efa: bool = False
    data_repositories: Annotated[Sequence[DataRepository], Checked(_few, typed=tuple[DataRepository, ...])] = Field(
        default=(DataRepository(),), examples=["[{path: /data, prefix: data/}]"]
    )

    @property
    def mbps_per_tib(self) -> int:
        """Throughput of each TiB in MB/s: the class that was given, else the deployment type's first."""
        if self.throughput_mbps_per_tib is not None:
            return cast(int, self.throughput_mbps_per_tib)
        return LUSTRE_THROUGHPUTS[self.deployment_type][0]

    @property
    def storage(self) -> LustreStorage:
        """What it costs by: its size, its kind and its speed."""
        return LustreStorage(
            gib=self.capacity_gib, deployment_type=self.deployment_type, mbps_per_tib=self.mbps_per_tib
        )


@LustreSpec.rule
def throughput_is_a_class_of_persistent_storage(spec: LustreSpec) -> Problems:
    """Reject other throughputs than the four classes of SSD storage.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/managing-throughput-capacity.html
    """
    wanted = spec.throughput_mbps_per_tib
    if spec.deployment_type == "PERSISTENT_2" and wanted is not None and not is_late(wanted):
        yield from one_of("throughput_mbps_per_tib", wanted, _CLASSES)


@LustreSpec.rule
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


@LustreSpec.rule
def capacity_is_offered(spec: LustreSpec) -> Problems:
    """Reject other sizes than those without EFA (StorageCapacity).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
    """
    offered = _offered_gib(spec, efa_throughput=None)
    if not spec.efa and offered != spec.capacity_gib:
        yield Problem(
            path=("capacity_gib",),
            given=spec.capacity_gib,
            allowed="Lustre does not offer this size",
            fix=f"give {LUSTRE_SMALLEST_GIB} or a multiple of {LUSTRE_STEP_GIB}, such as {offered}",
        )


@LustreSpec.rule
def capacity_is_offered_with_efa(spec: LustreSpec) -> Problems:
    """Reject sizes between the steps of EFA-enabled file systems, which depend on the class.

    https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    known = spec.deployment_type == "PERSISTENT_2" and spec.mbps_per_tib in LUSTRE_EFA_STEPS_GIB
    if not spec.efa or not known:
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
    """Return the capacity itself where FSx offers it or alone knows it, else the next larger one."""
    if is_late(spec.capacity_gib):
        return spec.capacity_gib
    return lustre_capacity_gib(spec.capacity_gib, efa_throughput=efa_throughput)


@LustreSpec.rule
def efa_needs_persistent_storage(spec: LustreSpec) -> Problems:
    """Reject EFA with SCRATCH_2: only PERSISTENT_2 can be EFA-enabled.

    https://pub.dev/documentation/pulumi_aws/latest/fsx/LustreFileSystem/efaEnabled.html
    """
    if spec.efa and spec.deployment_type == "SCRATCH_2":
        yield Problem(
            path=("efa",),
            given=True,
            allowed="SCRATCH_2 has no EFA",
            fix="omit it, or use PERSISTENT_2",
            related=(("deployment_type",),),
        )


@LustreSpec.rule
def paths_do_not_overlap(spec: LustreSpec) -> Problems:
    """Reject paths of which one contains another (FileSystemPath).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    known: list[tuple[int, str]] = []
    for number, repository in enumerate(spec.data_repositories):
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


@LustreSpec.rule
def prefixes_differ(spec: LustreSpec) -> Problems:
    """Reject a prefix that two data repositories share.

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    first: dict[str, int] = {}
    for number, repository in enumerate(spec.data_repositories):
        earlier = first.setdefault(repository.prefix.rstrip("/"), number)
        if earlier != number:
            yield Problem(
                path=("data_repositories", number, "prefix"),
                given=repository.prefix,
                allowed=f"{spec.data_repositories[earlier].path} has the same",
                fix="give each data repository a different prefix, such as data and runs",
                related=(("data_repositories", earlier, "prefix"),),
            )
