"""Where a training job reads its data: a folder in S3, of FSx for Lustre, or of an Elastic File System."""

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from training_workloads.validation import Problem, Problems, matches, one_of

__all__ = ["INPUT", "DataSource", "InputMode", "data_options", "data_source"]

#: Where SageMaker shows a channel of a name
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/model-train-storage.html, read 2026-11-23).
INPUT = "/opt/ml/input/data"

#: How SageMaker gives a folder of S3 to the container: copied before the start, or read on demand.
InputMode = Literal["File", "FastFile"]

# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_FileSystemDataSource.html (read 2026-11-23)
_FOLDER = r"fs-[0-9a-f]{8,18}:/[^\s:]*"
_S3 = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\S*)?"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSource:
    """A folder that a job reads.

    Attributes:
        kind: Where it is, in SageMaker's words: `S3`, `FSxLustre` or `EFS`.
        path: `s3://bucket/prefix`, or the path in the file system; of Lustre it begins with the mount name.
        file_system: Id of the file system; None for S3.
        mode: For S3: `File` copies everything before the start, `FastFile` reads on demand.
    """

    kind: Literal["S3", "FSxLustre", "EFS"]
    path: str
    file_system: str | None = None
    mode: InputMode = "File"

    @classmethod
    def s3(cls, uri: str, mode: InputMode = "File") -> Self:
        """Return a folder, or one object, of S3."""
        return cls(kind="S3", path=uri, mode=mode)

    @classmethod
    def file_system_folder(cls, kind: Literal["FSxLustre", "EFS"], folder: str) -> Self:
        """Return a folder of a file system that is written as `fs-…:/path`."""
        file_system, _, path = folder.partition(":")
        return cls(kind=kind, path=path, file_system=file_system)

    @property
    def needs_vpc(self) -> bool:
        """Whether the job must be in the VPC of the file system."""
        return self.kind != "S3"

    @property
    def is_copied(self) -> bool:
        """Whether every host needs room on its disk for all of it."""
        return self.kind == "S3" and self.mode == "File"

    def channel(self, name: str) -> dict[str, Any]:
        """Return the channel of a CreateTrainingJob request."""
        if self.kind == "S3":
            # Every host gets all of it: the programs themselves divide the records between the ranks.
            where = {"S3DataType": "S3Prefix", "S3Uri": self.path, "S3DataDistributionType": "FullyReplicated"}
            return {"ChannelName": name, "DataSource": {"S3DataSource": where}, "InputMode": self.mode}
        place = {"FileSystemId": self.file_system, "FileSystemType": self.kind, "DirectoryPath": self.path}
        return {
            "ChannelName": name,
            "DataSource": {"FileSystemDataSource": {**place, "FileSystemAccessMode": "ro"}},
            "InputMode": "File",
        }


def data_source(*, data: str | None, lustre: str | None, efs: str | None, mode: InputMode) -> DataSource | None:
    """Return the folder that the options of a command name; None where they name none."""
    if data is not None:
        # Without the slash it is the prefix of every folder that begins like it, such as imagenet21k.
        return DataSource.s3(f"{data.rstrip('/')}/", mode)
    if lustre is not None:
        return DataSource.file_system_folder("FSxLustre", lustre)
    return None if efs is None else DataSource.file_system_folder("EFS", efs)


def data_options(*, data: str | None, lustre: str | None, efs: str | None, mode: str | None) -> Problems:
    """Reject options that are no places of data, or that contradict each other."""
    given = {"data": data, "lustre": lustre, "efs": efs}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        allowed = f"--{names[0]} says another place of the data"
        yield Problem(path=(names[1],), given=given[names[1]], allowed=allowed, fix="give one of the two")
    if data is not None:
        yield from matches("data", data, _S3, "a folder such as s3://bucket/data/imagenet/")
    for name, example in (("lustre", "/<mount name>/data/imagenet"), ("efs", "/data/imagenet")):
        yield from _folder(name, given[name], f"fs-0123456789abcdef0:{example}")
    if mode is not None:
        yield from one_of("input_mode", mode, get_args(InputMode))
        if lustre is not None or efs is not None:
            allowed = "a file system is mounted, and only data in S3 is copied or read on demand"
            yield Problem(path=("input_mode",), given=mode, allowed=allowed, fix="omit it")


def _folder(name: str, value: str | None, example: str) -> Problems:
    if value is None:
        return
    wrong = list(matches(name, value, _FOLDER, f"the file system and the folder, such as {example}"))
    yield from wrong
    if not wrong and name == "lustre" and value.endswith(":/"):
        allowed = "the path of Lustre begins with the mount name of the file system"
        fix = f"give it, such as {example} ('aws fsx describe-file-systems' shows it)"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=fix)
