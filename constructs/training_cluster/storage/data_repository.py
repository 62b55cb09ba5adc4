"""A folder of Lustre that mirrors a prefix of a bucket, and what would lose data: one rule, one function.

A rule that needs a value which another rule rejects yields nothing, so that each problem is reported once.
"""

from dataclasses import dataclass

from aws_cdk import Token

from training_cluster.checks import valid_flag, valid_folder
from training_workloads.validation import Problem, Problems, enforce, matches

__all__ = ["RULES", "DataRepository"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataRepository:
    """A folder of the file system that mirrors a prefix of the bucket.

    Objects appear as files, with their metadata imported on creation; new and changed objects follow, and new and
    changed files are exported as objects.

    Attributes:
        path: Folder in the file system, with a leading `/`. Default: its root.
        prefix: What the keys of the objects start with. Default: every object of the bucket.
        export_deletions: Whether `rm` on Lustre deletes the object in the bucket. Takes effect only with the second
            key, `i_know_that_rm_deletes_objects`. Default: objects stay.
        i_know_that_rm_deletes_objects: The second key to `export_deletions`.
    """

    path: str = "/"
    prefix: str = ""
    export_deletions: bool = False
    i_know_that_rm_deletes_objects: bool = False

    def __post_init__(self) -> None:
        """Check what one data repository can know."""
        enforce(self, RULES)


def path_is_absolute(repository: DataRepository) -> Problems:
    """Require the leading slash (FileSystemPath).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    form = r"/[^\0\x85\u2028\u2029\r\n]{0,4095}"
    yield from matches("path", repository.path, form, "a folder from the root, such as /data")


def path_is_plain(repository: DataRepository) -> Problems:
    """Reject a path that FSx would mirror under another name than the one that clients see."""
    path = repository.path
    if isinstance(path, str) and ("//" in path or {".", ".."} & set(path.split("/"))):
        fix = "give the folder's path without '//', '.' and '..', such as /data"
        yield Problem(path=("path",), given=path, fix=fix)


def prefix_is_relative(repository: DataRepository) -> Problems:
    """Reject a leading slash: an object's key does not start with `/`, so the folder would stay empty."""
    if not Token.is_unresolved(repository.prefix):
        form = r"(?!/)[^\0\x85\u2028\u2029\r\n]{0,1024}"
        rule = "the start of the objects' keys without a leading '/', or ''"
        yield from matches("prefix", repository.prefix, form, rule)


def prefix_is_a_folder(repository: DataRepository) -> Problems:
    """Reject the bucket's name and what S3 does not read as a folder: no object would be found below it."""
    prefix = repository.prefix
    if isinstance(prefix, str) and not prefix.startswith("/") and not Token.is_unresolved(prefix):
        yield from valid_folder("prefix", prefix)


def export_deletions_is_a_flag(repository: DataRepository) -> Problems:
    """Reject non-bools: 'no' is true to Python."""
    yield from valid_flag("export_deletions", repository.export_deletions)


def i_know_that_rm_deletes_objects_is_a_flag(repository: DataRepository) -> Problems:
    """Reject non-bools: 'no' is true to Python."""
    yield from valid_flag("i_know_that_rm_deletes_objects", repository.i_know_that_rm_deletes_objects)


def deleting_objects_takes_two_keys(repository: DataRepository) -> Problems:
    """Require both keys: with DELETED among the exported events `rm -r` on Lustre empties the bucket."""
    first, second = ("export_deletions",), ("i_know_that_rm_deletes_objects",)
    deletes, known = repository.export_deletions, repository.i_know_that_rm_deletes_objects
    if deletes is True and known is False:
        yield Problem(
            path=first,
            given=True,
            allowed="then 'rm' on Lustre deletes the objects in S3",
            fix=f"set '{second[0]}' to true as well, or omit both to keep the objects",
            related=(second,),
        )
    if known is True and deletes is False:
        yield Problem(
            path=second,
            given=True,
            allowed=f"without '{first[0]}' nothing is deleted",
            fix="set both to true, or omit both",
            related=(first,),
        )


RULES = (
    path_is_absolute,
    path_is_plain,
    prefix_is_relative,
    prefix_is_a_folder,
    export_deletions_is_a_flag,
    i_know_that_rm_deletes_objects_is_a_flag,
    deleting_objects_takes_two_keys,
)
