"""What a link between a folder of Lustre and the bucket may be, and what would lose data: one rule, one function.

A rule that needs a value which another rule refuses says nothing, so that every mistake is told once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Token

from training_cluster.checks import check_flag, check_folder
from training_workloads import InputError
from training_workloads.validation import check_text

if TYPE_CHECKING:
    from training_cluster.storage.lustre_spec import DataRepositorySpec

__all__ = ["RULES"]


def path_is_absolute(repository: DataRepositorySpec) -> None:
    """The leading slash is required (FileSystemPath).

    https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
    """
    check_text("path", repository.path, r"/[^\0\x85\u2028\u2029\r\n]{0,4095}", "a folder from the root, such as /data")


def path_is_plain(repository: DataRepositorySpec) -> None:
    """FSx would link a folder of another name than the one that clients see."""
    path = repository.path
    if isinstance(path, str) and ("//" in path or {".", ".."} & set(path.split("/"))):
        raise InputError(f"'path' is {path!r}; give the folder's path without '//', '.' and '..', such as /data")


def prefix_is_relative(repository: DataRepositorySpec) -> None:
    """An object's key does not start with `/`: such a link would stay empty."""
    if not Token.is_unresolved(repository.prefix):
        form = r"(?!/)[^\0\x85\u2028\u2029\r\n]{0,1024}"
        check_text("prefix", repository.prefix, form, "the start of the objects' keys without a leading '/', or ''")


def prefix_is_a_folder(repository: DataRepositorySpec) -> None:
    """Without the bucket, and as S3 names it: no object would be found below another name."""
    prefix = repository.prefix
    if isinstance(prefix, str) and not prefix.startswith("/") and not Token.is_unresolved(prefix):
        check_folder("prefix", prefix)


def export_deletions_is_a_flag(repository: DataRepositorySpec) -> None:
    """To Python 'no' is true."""
    check_flag("export_deletions", repository.export_deletions)


def i_know_that_rm_deletes_objects_is_a_flag(repository: DataRepositorySpec) -> None:
    """To Python 'no' is true."""
    check_flag("i_know_that_rm_deletes_objects", repository.i_know_that_rm_deletes_objects)


def deleting_objects_takes_two_keys(repository: DataRepositorySpec) -> None:
    """With DELETED among the exported events `rm -r` on Lustre empties the bucket."""
    deletes, known = repository.export_deletions, repository.i_know_that_rm_deletes_objects
    if deletes is True and known is False:
        raise InputError(
            "'export_deletions' is true, so that 'rm' on Lustre deletes the objects in S3; "
            "set 'i_know_that_rm_deletes_objects' to true as well, or leave both out to keep the objects"
        )
    if known is True and deletes is False:
        raise InputError(
            "'i_know_that_rm_deletes_objects' is true, but 'export_deletions' is not, so that nothing is deleted; "
            "set both to true, or leave both out"
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
