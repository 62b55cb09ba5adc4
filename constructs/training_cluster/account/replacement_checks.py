"""Checks of a deployed cluster: whether the configuration keeps its zones, its VPC and its Lustre, or replaces them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.deployed_stack import VPC, DeployedStack
from training_cluster.account.lustre_state import find_lustre, storage_of
from training_workloads.catalog.provisioned_storage import LustreStorage

__all__ = ["KEEP_FILES", "KEEP_VPC", "KEEP_ZONES", "deployed_resources_stay", "smaller", "stays_outside"]

_CHECK = "deployed resources"

#: Ways that keep the resources of a deployed cluster.
KEEP_ZONES: Final = (
    "keep the zones of the deployed cluster in their order, and add new ones at the end; another first zone needs a "
    "second cluster"
)
KEEP_VPC: Final = "keep the VPC, or destroy the cluster ('trainctl cluster destroy') and deploy it anew"
KEEP_FILES: Final = (
    "keep the deployed values: 'lustre.further_zones' adds a file system in another zone, and a second cluster has one "
    "of another kind"
)


def stays_outside(id: str, storage: LustreStorage | None) -> str:
    """Return the effect on a Lustre file system that a deployment replaces and retains, as text.

    Args:
        id: Its id.
        storage: What it costs by; None where that is not known.
    """
    price = storage.price if storage else None
    billed = f"{price.usd_per_hour:.2f} USD per hour in {price.region}" if price else "the catalog has no price of it"
    return (
        f"the new one begins without files that are not in the bucket; {id} stays, outside the stack and without its "
        f"data repositories, and is billed ({billed}) until 'aws fsx delete-file-system --file-system-id {id}'"
    )


def smaller(before: int, after: int) -> str:
    """Return why FSx rejects another size, as text."""
    return f"{after} GiB in place of {before}: FSx makes no file system smaller"


def deployed_resources_stay(deployment: Deployment) -> Iterator[CheckResult]:
    """CloudFormation replaces subnets, VPC and Lustre where a value changes that they have at their creation only."""
    stack = deployment.cluster
    if stack is None:
        yield skipped(_CHECK, f"there is no {deployment.cluster_stack} yet")
        return
    if stack.cluster_name:
        yield _vpc(deployment, stack)
    if deployment.deployed_zones and deployment.config.existing_vpc is None:
        yield _zones(deployment)
    for id in deployment.deployed_lustre:
        yield from _lustre(deployment, id)


def _vpc(deployment: Deployment, stack: DeployedStack) -> CheckResult:
    """Compare the VPC: EKS keeps a cluster in its own, and a VPC keeps its first range."""
    existing = deployment.config.existing_vpc
    wanted = existing.vpc_id if existing else deployment.config.vpc_cidr
    if own := stack.ids(VPC):
        has = deployment.account.ask("ec2", "describe_vpcs", VpcIds=list(own))["Vpcs"][0]["CidrBlock"]
        key = "omit existing_vpc" if existing else f"set vpc_cidr: {has}"
    else:
        cluster = deployment.account.ask("eks", "describe_cluster", name=stack.cluster_name)["cluster"]
        has = cluster["resourcesVpcConfig"]["vpcId"]
        key = f"set existing_vpc.vpc_id: {has}"
    return decided("deployed VPC", has == wanted, actual=has, needed=wanted, remedy=f"{key}: {KEEP_VPC}")


def _zones(deployment: Deployment) -> CheckResult:
    """Compare the zones in their order: a subnet keeps its zone, and another one cannot have its addresses."""
    has, wanted = deployment.deployed_zones, deployment.zones
    # A zone at the end may be added or removed: the other subnets stay.
    stays = all(one == other for one, other in zip(has, wanted, strict=False))
    return decided(
        "deployed zones",
        stays,
        actual=", ".join(has),
        needed=", ".join(wanted),
        remedy=f"set availability_zones: [{', '.join(has)}]: EC2 rejects a second subnet with the addresses of a "
        f"deployed one, and Lustre would be replaced; {KEEP_ZONES}",
    )


def _lustre(deployment: Deployment, id: str) -> Iterator[CheckResult]:
    """Compare a file system: FSx changes neither its zone nor its kind, and CloudFormation makes a new one."""
    found = find_lustre(deployment.account, id)
    if found is None:
        yield skipped(f"deployed Lustre of {id}", f"{deployment.account.region} of this account has no {id} (any more)")
        return
    zone = _zone(deployment, found)
    differences = list(_differences(deployment, found, zone))
    kind = found.get("LustreConfiguration", {}).get("DeploymentType", "Lustre")
    effects = dict.fromkeys(each.effect for each in differences)
    yield decided(
        f"deployed Lustre of {id}",
        not differences,
        actual=f"{kind}, {found['StorageCapacity']} GiB in {zone or 'an unknown zone'}",
        needed="; ".join(each.wanted for each in differences) or "the same",
        remedy=f"{' and '.join(each.key for each in differences)}: {'; '.join(effects)}; {KEEP_FILES}",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Difference:
    """A value of the configuration that the deployed file system cannot get.

    Attributes:
        key: The key to change, in the imperative.
        wanted: The value of the configuration, in words.
        effect: The effect of a deployment with it.
    """

    key: str
    wanted: str
    effect: str


def _differences(deployment: Deployment, found: dict[str, Any], zone: str | None) -> Iterator[_Difference]:
    config, deployed, id = deployment.config, found.get("LustreConfiguration", {}), found["FileSystemId"]
    replaced = stays_outside(id, storage_of(found))
    deleted = f"the stack deletes {id}, with the files that are not in the bucket"
    if config.existing_lustre:
        yield _Difference(key="omit existing_lustre", wanted=config.existing_lustre.file_system_id, effect=deleted)
        return
    first, further = deployment.training_zone, config.lustre.further_zones
    if id == deployment.first_lustre:
        if zone and zone != first:
            yield _Difference(key=f"set lustre.availability_zone: {zone}", wanted=f"in {first}", effect=replaced)
    elif zone and zone not in further:
        wanted = f"in {', '.join(further) or 'no further zone'}"
        yield _Difference(key=f"add {zone} to lustre.further_zones", wanted=wanted, effect=deleted)
    kind, efa = deployed.get("DeploymentType"), bool(deployed.get("EfaEnabled"))
    if kind and kind != config.lustre.deployment_type:
        key = f"set lustre.deployment_type: {kind}"
        yield _Difference(key=key, wanted=config.lustre.deployment_type, effect=replaced)
    if efa != config.lustre.efa:
        wanted = f"{'with' if config.lustre.efa else 'without'} EFA"
        yield _Difference(key=f"set lustre.efa: {str(efa).lower()}", wanted=wanted, effect=replaced)
    size, smallest = found["StorageCapacity"], config.lustre.capacity_gib
    if size > smallest:
        why = smaller(size, smallest)
        yield _Difference(key=f"set lustre.capacity_gib: {size}", wanted=f"{smallest} GiB", effect=why)


def _zone(deployment: Deployment, found: dict[str, Any]) -> str | None:
    """Return the zone of a file system."""
    subnets = deployment.subnets(found.get("SubnetIds", ())) if found.get("SubnetIds") else []
    return next((str(each["AvailabilityZone"]) for each in subnets), None)
