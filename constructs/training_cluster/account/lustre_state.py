"""The state of a Lustre file system: how full it is, and whether the files of jobs have arrived in the bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from training_cluster.account.account_requests import Account
from training_workloads.catalog.provisioned_storage import LustreStorage
from training_workloads.manifests.values import GI

__all__ = ["NO_LAG", "LustreState", "find_associations", "find_lustre", "read_lustre", "storage_of"]

# Both metrics have a sample a minute: https://docs.aws.amazon.com/fsx/latest/LustreGuide/fs-metrics.html
_PERIOD, _RECENT = timedelta(minutes=1), timedelta(minutes=15)

_HEALTHY = ("AVAILABLE", "UPDATING")
_RUNNING_TASKS = ("PENDING", "EXECUTING")
_NOT_FOUND = "FileSystemNotFound"

#: The text where the age of the oldest change is not known.
NO_LAG = "CloudWatch has no value of how long changes wait for their export"


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreState:
    """The state of a file system.

    Attributes:
        id: Its id.
        lifecycle: FSx's word for its state.
        capacity_gib: Its storage.
        used_percent: How full it is; None where CloudWatch has no value.
        export_lag_seconds: Age of the oldest change that waits for its export; 0 where none waits, None where
            CloudWatch has no value.
        exports: How many of its data repositories export changes.
        broken: Data repositories that do not work, each with FSx's reason.
        tasks: Data repository tasks that run.
        storage: What it costs by.
    """

    id: str
    lifecycle: str
    capacity_gib: int
    used_percent: float | None
    export_lag_seconds: int | None
    exports: int
    broken: tuple[str, ...]
    tasks: int
    storage: LustreStorage

    @property
    def unexported(self) -> str:
        """Why changes may not be in the bucket yet; empty where all are."""
        reasons = [*self.broken]
        if self.exports and self.export_lag_seconds:
            reasons.append(f"the oldest change waits for its export for {self.export_lag_seconds} s")
        if self.tasks:
            reasons.append(f"{self.tasks} data repository tasks run")
        return "; ".join(reasons)

    @property
    def has_unknown_exports(self) -> bool:
        """Whether changes may wait for their export without a value of it in CloudWatch."""
        return bool(self.exports) and self.export_lag_seconds is None


def find_lustre(account: Account, id: str) -> dict[str, Any] | None:
    """Return FSx's description of a file system; None if the region has none of this id."""
    found = account.find("fsx", "describe_file_systems", _NOT_FOUND, FileSystemIds=[id])
    return dict(found["FileSystems"][0]) if found else None


def find_associations(account: Account, id: str) -> list[dict[str, Any]]:
    """Return the data repositories of a file system: it has at most eight, and the answer no second page."""
    only = {"Name": "file-system-id", "Values": [id]}
    return list(account.ask("fsx", "describe_data_repository_associations", Filters=[only])["Associations"])


def read_lustre(account: Account, id: str) -> LustreState | None:
    """Return the state of a file system; None if it does not exist."""
    found = find_lustre(account, id)
    if found is None:
        return None
    associations = find_associations(account, id)
    # Tasks run one after another: this answer has no second page either.
    only = {"Name": "file-system-id", "Values": [id]}
    running = {"Name": "task-lifecycle", "Values": list(_RUNNING_TASKS)}
    tasks = account.ask("fsx", "describe_data_repository_tasks", Filters=[only, running])["DataRepositoryTasks"]
    capacity = found["StorageCapacity"]
    # Each server has a sample of its part.
    free = _newest(account, "FreeDataStorageCapacity", "Sum", FileSystemId=id)
    lag = _newest(account, "AgeOfOldestQueuedMessage", "Maximum", FileSystemId=id, Publisher="AutoExport")
    return LustreState(
        id=id,
        lifecycle=found["Lifecycle"],
        capacity_gib=capacity,
        used_percent=None if free is None else round(100 * max(0.0, 1 - free / (capacity * GI)), 1),
        export_lag_seconds=None if lag is None else int(lag),
        exports=sum(bool(_exported(each)) for each in associations),
        broken=tuple(_fault(each) for each in associations if each["Lifecycle"] not in _HEALTHY),
        tasks=len(tasks),
        storage=storage_of(found),
    )


def storage_of(file_system: dict[str, Any]) -> LustreStorage:
    """Return the priced storage of a file system that FSx describes."""
    configuration = file_system.get("LustreConfiguration", {})
    kind, speed = configuration.get("DeploymentType", ""), configuration.get("PerUnitStorageThroughput")
    return LustreStorage.described(file_system["StorageCapacity"], kind, speed)


def _exported(association: dict[str, Any]) -> Sequence[str]:
    events: Sequence[str] = association.get("S3", {}).get("AutoExportPolicy", {}).get("Events", ())
    return events


def _fault(association: dict[str, Any]) -> str:
    why = association.get("FailureDetails", {}).get("Message", "")
    return f"the data repository of {association.get('FileSystemPath', '/')} is {association['Lifecycle']}" + (
        f" ({why})" if why else ""
    )


def _newest(account: Account, name: str, statistic: Literal["Maximum", "Sum"], **dimensions: str) -> float | None:
    return account.newest_metric("AWS/FSx", name, dimensions, statistic=statistic, period=_PERIOD, within=_RECENT)
