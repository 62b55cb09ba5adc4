"""The resources that stay in the account when a cluster is destroyed, and their cost by the month."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import DeployedStack
from training_cluster.account.deployed_template import RETAINED, deployed_template
from training_cluster.account.manifests import MANIFEST, documents
from training_workloads.aws.errors import NoPermissionError, RejectionError
from training_workloads.catalog.prices import BUCKET, ELASTIC_FILES, IMAGES, KEY, MonthlyPrice
from training_workloads.manifests.values import GI

__all__ = ["ELASTIC_FILE_SYSTEM", "KeptResource", "elastic_bytes", "kept_by_data_stack", "kept_resources", "priced"]

#: Type of a resource.
ELASTIC_FILE_SYSTEM = "AWS::EFS::FileSystem"

# Of some types CloudFormation makes a snapshot, which stays.
_KEPT = (*RETAINED, "Snapshot")

# Neither costs anything; each belongs to something that does.
_FREE = ("AWS::S3::BucketPolicy", "AWS::KMS::Alias")

# S3 reports its sizes once a day, for the day before:
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/metrics-dimensions.html
_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptResource:
    """A resource that stays.

    Attributes:
        kind: Its type in CloudFormation, or its kind in Kubernetes.
        id: Its physical id, or its name in Kubernetes.
        gib: Its size in GiB; None where that is not known.
        usd_per_month: Its cost in us-east-1, without requests; None where that is not known.
    """

    kind: str
    id: str
    gib: float | None = None
    usd_per_month: float | None = None


def kept_resources(account: Account, stack: DeployedStack) -> list[KeptResource]:
    """Return the resources of a stack that its deletion retains."""
    resources = deployed_template(account, stack.name)["Resources"]
    retained = {name for name, each in resources.items() if each.get("DeletionPolicy") in _KEPT}
    kept = [each for each in stack.resources if each.logical_id in retained and each.kind not in _FREE]
    objects = [] if stack.cluster_name else _objects(resources[each.logical_id] for each in kept)
    return [*(priced(account, each.kind, each.id) for each in kept if each.kind != MANIFEST), *objects]


def _objects(resources: Iterable[Mapping[str, Any]]) -> list[KeptResource]:
    """Return the objects of Kubernetes, such as namespaces, that stay in a cluster of another stack."""
    manifests = [each["Properties"] for each in resources if each["Type"] == MANIFEST]
    found = [document for manifest in manifests for document in documents(manifest)]
    return [KeptResource(kind=each["kind"], id=each["metadata"]["name"], usd_per_month=0) for each in found]


def kept_by_data_stack(account: Account, stack: DeployedStack) -> list[KeptResource]:
    """Return the resources of the data stack, with their price."""
    return [priced(account, each.kind, each.id) for each in stack.resources if each.kind in _SIZES]


def priced(account: Account, kind: str, id: str) -> KeptResource:
    """Return a resource with its size and price, where its type has these and they can be read.

    Args:
        account: The account.
        kind: Its type.
        id: Its physical id.
    """
    price, size = _SIZES.get(kind, (None, None))
    held = None
    if size:
        # The list is still right without the size, and says that it is not known.
        with suppress(NoPermissionError, RejectionError):
            held = size(account, id)
    gib = None if held is None else held / GI
    # Without a way to read its size, a resource has one price.
    amount = gib if size else 1
    usd = None if price is None or amount is None else round(amount * price.usd, 2)
    gib = None if gib is None else round(gib, 1)
    return KeptResource(kind=kind, id=id, gib=gib, usd_per_month=usd)


def _bucket(account: Account, name: str) -> float | None:
    dimensions = {"BucketName": name, "StorageType": "StandardStorage"}
    metric = ("AWS/S3", "BucketSizeBytes", dimensions)
    return account.newest_metric(*metric, statistic="Average", period=_DAY, within=3 * _DAY)


def _repository(account: Account, name: str) -> float:
    images = account.all("ecr", "describe_images", "imageDetails", repositoryName=name)
    return float(sum(each.get("imageSizeInBytes", 0) for each in images))


def elastic_bytes(account: Account, id: str) -> float:
    """Return the size of the files in an EFS file system."""
    (found,) = account.ask("efs", "describe_file_systems", FileSystemId=id)["FileSystems"]
    return float(found["SizeInBytes"]["Value"])


# The price of each type, and how its size is read; a key has none.
_SIZES: Mapping[str, tuple[MonthlyPrice, Callable[[Account, str], float | None] | None]] = {
    "AWS::S3::Bucket": (BUCKET, _bucket),
    "AWS::ECR::Repository": (IMAGES, _repository),
    ELASTIC_FILE_SYSTEM: (ELASTIC_FILES, elastic_bytes),
    "AWS::KMS::Key": (KEY, None),
}
