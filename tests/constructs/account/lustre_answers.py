"""What FSx and CloudWatch say about a file system."""

from typing import Any

from tests.constructs.account.stubbed_account import StubbedAccount

FILE_SYSTEM = "fs-0123456789abcdef0"
CAPACITY = 1200
_GIB = 1024**3


def answer_lustre(
    account: StubbedAccount,
    *,
    lag: float | None = 0,
    lifecycle: str = "AVAILABLE",
    exported: bool = True,
    task: str | None = None,
) -> None:
    """Give the answers about a file system that is half full."""
    kind = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125}
    found = {"FileSystemId": FILE_SYSTEM, "Lifecycle": "AVAILABLE", "StorageCapacity": CAPACITY}
    found["LustreConfiguration"] = kind
    account.answer("fsx", "describe_file_systems", {"FileSystems": [found]}, {"FileSystemIds": [FILE_SYSTEM]})
    events = ["NEW", "CHANGED"] if exported else []
    association: dict[str, Any] = {
        "Lifecycle": lifecycle,
        "FileSystemPath": "/",
        "S3": {"AutoExportPolicy": {"Events": events}},
    }
    if lifecycle == "MISCONFIGURED":
        association["FailureDetails"] = {"Message": "no access to the bucket"}
    account.answer("fsx", "describe_data_repository_associations", {"Associations": [association]})
    tasks = [{"TaskId": "task-0123456789abcdef0", "Lifecycle": task, "Type": "EXPORT_TO_REPOSITORY", "CreationTime": 0}]
    filters = [
        {"Name": "file-system-id", "Values": [FILE_SYSTEM]},
        {"Name": "task-lifecycle", "Values": ["PENDING", "EXECUTING"]},
    ]
    running = {"DataRepositoryTasks": tasks if task else []}
    account.answer("fsx", "describe_data_repository_tasks", running, {"Filters": filters})
    account.answer_metric(0.9 * CAPACITY * _GIB, 0.5 * CAPACITY * _GIB, statistic="Sum")
    account.answer_metric(*(() if lag is None else (lag,)))
