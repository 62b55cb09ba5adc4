"""A folder of Lustre that mirrors a prefix of a bucket, and the rules against losing data."""

from typing import Annotated, Any

from pydantic import Field

from training_cluster.checks import KnownChecked, valid_folder
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, matches

__all__ = ["DataRepository"]


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
        i_know_that_rm_deletes_objects: The second key to `export_deletions`.
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
