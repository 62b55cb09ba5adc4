"""The effects of a deployment on file systems, buckets and other resources with data."""

from collections.abc import Iterator

from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM
from training_cluster.account.kept_resources import KeptResource
from training_cluster.account.lustre_state import NO_LAG
from training_cluster.account.replacement_checks import KEEP_FILES, smaller, stays_outside
from training_cluster.changes.findings import KEPT, LOST, REJECTED, SEPARATE, Finding, Live, ending_jobs
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.template_changes import ResourceChange, value_at
from training_cluster.changes.template_cost import lustre_storage
from training_workloads.aws.errors import RequestError

__all__ = ["data_is_deleted", "data_repositories_overlap", "storage_shrinks"]

_DATA_REPOSITORY = "AWS::FSx::DataRepositoryAssociation"

# What is deleted with a resource, by its type.
_DATA = {
    FILE_SYSTEM: "files that are not in a data repository, and changes that were not exported",
    "AWS::EFS::FileSystem": "every file",
    "AWS::S3::Bucket": "every object, or the deployment fails: S3 deletes empty buckets only",
    "AWS::ECR::Repository": "every image",
    "AWS::KMS::Key": "everything that it has encrypted, after its waiting period",
    "AWS::Logs::LogGroup": "its logs",
    CLUSTER: "every job, claim and object of Kubernetes",
}


_DELETE = "copy what you need, and delete it by hand when nothing uses it"


def data_is_deleted(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A deleted resource takes its content with it; one that is retained stays outside the stack."""
    for change in stack.of_kind(*_DATA):
        if change.is_retained:
            yield _kept(stack, change, live)
        elif change.deletes:
            yield _lost(stack, change, live)


def _lost(stack: PlannedStack, change: ResourceChange, live: Live) -> Finding:
    word = "replaced by a new one" if change.action == "replace" else "deleted"
    effect = f"{word}; lost: {_DATA[change.kind]}"
    jobs: tuple[str, ...] = ()
    remedy = "keep the values of the deployed stack, or copy first what must stay"
    if change.kind == FILE_SYSTEM:
        effect += _exports(live, stack.physical_id(change))
        remedy = "wait for the exports and delete the jobs that mount it, or add a second file system"
    elif change.kind == CLUSTER:
        note, jobs = ending_jobs(live, None)
        effect += note
    subject, keys = stack.title(change), stack.keys(change)
    return Finding(outcome=LOST, subject=subject, effect=effect, keys=keys, remedy=remedy, jobs=jobs)


def _kept(stack: PlannedStack, change: ResourceChange, live: Live) -> Finding:
    id = stack.physical_id(change)
    if change.kind == FILE_SYSTEM and change.action == "replace":
        effect, remedy = f"{stays_outside(id, lustre_storage(change.before))}{_exports(live, id)}", KEEP_FILES
    else:
        effect, remedy = f"it stays outside the stack, and is billed{_price(live.kept(change.kind, id))}", _DELETE
    effect = f"{change.action}d; the deployed one is kept, not deleted: {effect}"
    return Finding(outcome=KEPT, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _price(found: KeptResource) -> str:
    if found.usd_per_month is None:
        return ""
    size = "" if found.gib is None else f"{found.gib} GiB, "
    return f" ({size}{found.usd_per_month:.2f} USD a month in us-east-1)"


def _exports(live: Live, id: str) -> str:
    """Return whether changes wait for their export; the finding holds also where that cannot be read."""
    try:
        state = live.lustre(id)
    except RequestError as error:
        return f" (whether changes wait for their export cannot be read: {error})"
    if state is None:
        return ""
    if state.unexported:
        return f" ({state.unexported})"
    return f" ({NO_LAG})" if state.has_unknown_exports else " (none waits for its export)" if state.exports else ""


def storage_shrinks(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """FSx makes a file system larger, and never smaller."""
    for change in stack.of_kind(FILE_SYSTEM):
        before, after = change.old.get("StorageCapacity"), change.new.get("StorageCapacity")
        if change.action == "update" and isinstance(before, int) and isinstance(after, int) and after < before:
            effect = smaller(before, after)
            remedy = f"keep {before} GiB, or more"
            subject, keys = stack.title(change), stack.keys(change)
            yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)


def data_repositories_overlap(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A folder of a file system has one data repository, and the new one is made first."""
    systems = {each.logical_id for each in stack.of_kind(FILE_SYSTEM) if each.action == "replace"}
    for change in stack.of_kind(_DATA_REPOSITORY):
        folder = change.new.get("FileSystemPath")
        on_new = value_at(change.new, "FileSystemId/Ref") in systems if change.action == "replace" else True
        if not on_new and folder == change.old.get("FileSystemPath"):
            effect = f"the folder {folder} has a data repository until the deployed one is deleted"
            subject, keys = stack.title(change), ("lustre.data_repositories",)
            yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, steps=SEPARATE)
