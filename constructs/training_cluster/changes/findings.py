"""The effects of a deployment that a person must know before it: lost data, rejected updates, nodes that stop."""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM
from training_cluster.account.lustre_state import NO_LAG, LustreState
from training_cluster.changes.manifests import documents, object_identity, volume_source
from training_cluster.changes.planned_stack import NODE_GROUP, SUBNET, VPC, PlannedStack, group_name
from training_cluster.changes.template_changes import ResourceChange, value_at
from training_workloads.catalog import versions

__all__ = ["LOST", "REJECTED", "RULES", "STOPS", "UNKNOWN", "Finding", "Jobs", "Live", "LiveNodeGroup", "Outcome"]

LOST: Final = "lost"
REJECTED: Final = "rejected"
STOPS: Final = "stops"
UNKNOWN: Final = "unknown"

#: `lost`: data or jobs cannot be had again. `rejected`: AWS rejects the deployment, which is rolled back. `stops`:
#: nodes stop, and jobs on them resume. `unknown`: it could not be read.
Outcome = Literal["lost", "rejected", "stops", "unknown"]

_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
_HELM_CHART = "Custom::AWSCDK-EKS-HelmChart"
_DATA_REPOSITORY = "AWS::FSx::DataRepositoryAssociation"

# The other charts of the platform define no kinds.
_OTHERS = (versions.NVIDIA_DEVICE_PLUGIN, versions.EFA_DEVICE_PLUGIN, versions.CLUSTER_AUTOSCALER)
_WITHOUT_DEFINITIONS = {each.chart for each in (*_OTHERS, versions.DCGM_EXPORTER)}

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

# EKS takes these by UpdateNodegroupVersion, and all others by UpdateNodegroupConfig and TagResource. CloudFormation
# rejects an update of both: https://github.com/aws/aws-cdk/issues/16644
_OF_THE_NODES = {"LaunchTemplate", "ReleaseVersion", "Version"}
_NO_UPDATE = {"ForceUpdateEnabled"}
_BLOCK = "CAPACITY_BLOCK"
_DEGRADED = ("DEGRADED", "CREATE_FAILED")

# Where one resource of a name exists, its successor cannot have the name, and is made first.
_SEPARATE = "deploy once without it, which deletes it, and then with the new values"
_TWICE = "deploy twice: first {first}, then {then}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An effect of a deployment.

    Attributes:
        outcome: Its kind.
        subject: The resource, in words.
        effect: The effect.
        keys: The keys of cluster.yaml that cause it; empty where these are not known.
        remedy: The way to avoid it, in the imperative; empty where the effect is wanted by the change.
    """

    outcome: Outcome
    subject: str
    effect: str
    keys: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveNodeGroup:
    """A node group as EKS has it.

    Attributes:
        status: EKS's word for its state.
        desired: How many nodes it wants now.
        issues: EKS's reasons of a state that is not healthy.
    """

    status: str
    desired: int
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """The jobs on some nodes, as `name in namespace`.

    Attributes:
        held: Those whose pods may not be evicted.
        others: Those that are evicted, and resume.
    """

    held: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Live(Protocol):
    """The deployed cluster, as far as rules ask about it. Each method raises where it cannot be read."""

    def node_group(self, id: str) -> LiveNodeGroup | None:
        """Return a node group by its physical id; None if there is none."""

    def lustre(self, id: str) -> LustreState | None:
        """Return the state of a file system; None if there is none."""

    def importers(self, export: str) -> list[str]:
        """Return the stacks that import an export."""

    def jobs_on(self, group: str) -> Jobs:
        """Return the jobs on the nodes of a node group, by its name in cluster.yaml."""


def data_is_deleted(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A deleted resource takes its content with it."""
    for change in stack.of_kind(*_DATA):
        if not change.deletes:
            continue
        effect = f"{_word(change)}; lost: {_DATA[change.kind]}"
        remedy = "keep the values of the deployed stack, or copy first what must stay"
        if change.kind == FILE_SYSTEM:
            effect += _unexported(live.lustre(stack.physical_id(change)))
            remedy = "wait for the exports and delete the jobs that mount it, or add a second file system"
        yield Finding(outcome=LOST, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _word(change: ResourceChange) -> str:
    return "replaced by a new one" if change.action == "replace" else "deleted"


def _unexported(state: LustreState | None) -> str:
    if state is None:
        return ""
    if state.unexported:
        return f" ({state.unexported})"
    return f" ({NO_LAG})" if state.has_unknown_exports else " (none waits for its export)" if state.exports else ""


def namespaces_and_definitions_are_deleted(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A namespace takes every object in it with it, and a definition every object of its kind."""
    for change in stack.of_kind(_MANIFEST):
        if change.action == "create" or change.is_retained:
            continue
        kept = {object_identity(each) for each in documents(change.new)}
        for document in documents(change.old):
            kind, name = document.get("kind"), document.get("metadata", {}).get("name")
            if object_identity(document) in kept:
                continue
            if kind == "Namespace":
                effect = "deleted, with every job, claim and object in it"
            elif kind == "CustomResourceDefinition":
                effect = "deleted, with every object of its kind in all namespaces"
            else:
                continue
            remedy = "keep it in the app, or let the jobs end first"
            yield Finding(outcome=LOST, subject=f"{kind} {name!r}", effect=effect, remedy=remedy)


def releases_are_uninstalled(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Helm deletes the definitions in the templates of a chart, and with these every object of their kinds."""
    for change in stack.of_kind(_HELM_CHART):
        release = change.old.get("Release") or change.logical_id
        if change.action != "remove" or change.is_retained or release in _WITHOUT_DEFINITIONS:
            continue
        subject = f"Helm release {release!r}"
        if release == versions.KUEUE.chart:
            effect = "uninstalled, with every queue and workload of Kueue: jobs that wait in a queue stay suspended"
            remedy = "let the jobs of the queue end first; 'kubectl get workloads -A' lists them"
            yield Finding(outcome=LOST, subject=subject, effect=effect, keys=("job_queue",), remedy=remedy)
        else:
            effect = "uninstalled; definitions in its templates go, with every object of their kinds"
            remedy = (
                f"find them in the output of 'helm get manifest {release} -n {change.old.get('Namespace', 'default')}'"
            )
            yield Finding(outcome=UNKNOWN, subject=subject, effect=effect, remedy=remedy)


def volumes_change(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Kubernetes changes the source of no volume; the apply fails, and with it the deployment."""
    replaced = {each.logical_id for each in stack.changes if each.action == "replace"}
    for change in stack.of_kind(_MANIFEST):
        if change.action != "update":
            continue
        new = {object_identity(each): each for each in documents(change.new, replaced)}
        for document in documents(change.old):
            after = new.get(object_identity(document))
            if document.get("kind") == "PersistentVolume" and after and volume_source(after) != volume_source(document):
                name = document["metadata"]["name"]
                remedy = (
                    f"let the jobs that mount it end, and run 'kubectl delete pvc {name}' in each namespace and "
                    f"'kubectl delete pv {name}' before the deployment"
                )
                effect = "has another source, and Kubernetes does not change that of a volume that exists"
                yield Finding(outcome=REJECTED, subject=f"PersistentVolume {name!r}", effect=effect, remedy=remedy)


def objects_move(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A new manifest makes its objects before the deployed manifest that has them is deleted, with them.

    It creates them, and fails for one that exists, or with `Overwrite` applies them:
    https://github.com/aws/aws-cdk/pull/12053 and https://github.com/aws/aws-cdk/issues/33406
    """
    owners = {
        object_identity(document): change
        for change in stack.of_kind(_MANIFEST)
        if change.action == "remove"
        for document in documents(change.old)
    }
    for change in (each for each in stack.of_kind(_MANIFEST) if each.action == "create"):
        for identity in filter(owners.__contains__, map(object_identity, documents(change.new))):
            subject = f"{identity[0]} {identity[2]!r}"
            if change.new.get("Overwrite") not in (True, "true"):
                effect = "a new manifest creates it, which fails: the deployed one has it until it is deleted"
                yield Finding(outcome=REJECTED, subject=subject, effect=effect, remedy=_SEPARATE)
            elif owners[identity].deletes:
                effect = "a new manifest applies it, and then it is deleted with the deployed manifest"
                yield Finding(outcome=LOST, subject=subject, effect=effect, remedy=_SEPARATE)


def identities_are_fixed(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation changes neither the type of a resource nor the function of a custom resource."""
    for change in stack.changes:
        effect = ""
        if change.before and change.after and change.before["Type"] != change.after["Type"]:
            effect = f"its type changes from {change.before['Type']}, which CloudFormation does not allow"
        elif change.action != "create" and "ServiceToken" in change.paths:
            effect = "its function changes (ServiceToken), which CloudFormation does not allow"
        if effect:
            remedy = "give its construct another id: the new one is made, and then the deployed one deleted"
            yield Finding(outcome=REJECTED, subject=stack.title(change), effect=effect, remedy=remedy)


def names_are_taken(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation makes the new resource first, which cannot have the name of the deployed one."""
    for change in stack.changes:
        if change.action != "replace":
            continue
        kind = change.kind.rpartition("::")[2]
        for property in ("Name", f"{kind}Name"):
            name = change.new.get(property)
            if name is not None and name == change.old.get(property):
                effect = f"can only be replaced, and its name {name!r} is taken until it is deleted"
                yield Finding(
                    outcome=REJECTED,
                    subject=stack.title(change),
                    effect=effect,
                    keys=stack.keys(change),
                    remedy=_fixed_name(change),
                )


def _fixed_name(change: ResourceChange) -> str:
    if change.kind == CLUSTER:
        return "keep its values, or destroy the cluster ('trainctl cluster destroy') and deploy it anew"
    return _SEPARATE


def addresses_are_taken(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A new subnet is made before the old one is deleted, and cannot have its addresses in one VPC."""
    if any(change.action == "replace" for change in stack.of_kind(VPC)):
        return
    deployed = {
        id: ipaddress.ip_network(each["Properties"]["CidrBlock"])
        for id, each in stack.old.get("Resources", {}).items()
        if each["Type"] == SUBNET and isinstance(each["Properties"].get("CidrBlock"), str)
    }
    for change in stack.of_kind(SUBNET):
        given = change.new.get("CidrBlock")
        if change.action not in ("create", "replace") or not isinstance(given, str):
            continue
        taken = [str(each) for each in deployed.values() if each.overlaps(ipaddress.ip_network(given))]
        if taken:
            yield Finding(
                outcome=REJECTED,
                subject=f"EC2 Subnet {given} in {_zone(change)}",
                effect=f"a deployed subnet has {', '.join(taken)}, and is deleted only after the new one is made",
                keys=stack.keys(change) or ("availability_zones", "vpc_cidr"),
                remedy="keep the zones of the deployed cluster in their order, and add new ones at the end; another "
                "first zone needs a new cluster",
            )


def _zone(change: ResourceChange) -> str:
    zone = change.new.get("AvailabilityZone")
    return zone if isinstance(zone, str) else "a zone of the region"


def cluster_stays_in_its_vpc(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS takes other subnets of the cluster's VPC only."""
    for change in stack.of_kind(CLUSTER):
        moved = any(path.startswith("ResourcesVpcConfig/SubnetIds") for path in change.paths)
        vpcs = {each.logical_id for each in stack.of_kind(VPC) if each.deletes}
        if change.action == "update" and moved and vpcs:
            yield Finding(
                outcome=REJECTED,
                subject=stack.title(change),
                effect="would move into another VPC, and EKS keeps a cluster in its own",
                keys=tuple(key for each in stack.of_kind(VPC) for key in stack.keys(each)) or ("existing_vpc",),
                remedy="keep the VPC, or destroy the cluster ('trainctl cluster destroy') and deploy it anew",
            )


def exports_are_imported(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation removes no export that another stack imports."""
    for export in stack.removed_exports:
        if stacks := live.importers(export):
            yield Finding(
                outcome=REJECTED,
                subject=f"export {export}",
                effect=f"{', '.join(stacks)} imports it",
                remedy=f"deploy {', '.join(stacks)} without it first ('cdk deploy --exclusively'), then {stack.name}",
            )


def storage_shrinks(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """FSx makes a file system larger, and never smaller."""
    for change in stack.of_kind(FILE_SYSTEM):
        before, after = change.old.get("StorageCapacity"), change.new.get("StorageCapacity")
        if change.action == "update" and isinstance(before, int) and isinstance(after, int) and after < before:
            effect = f"{after} GiB in place of {before}: FSx makes no file system smaller"
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
            yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=_SEPARATE)


def node_groups_are_updated(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS rejects some updates of a node group, and stops nodes with others."""
    for change in stack.of_kind(NODE_GROUP):
        if change.action == "create":
            continue
        found = live.node_group(stack.physical_id(change))
        yield from _rejections(stack, change, found)
        if change.deletes:
            yield from _stopped(stack, change, found, live)
        elif _of_the_nodes(change):
            yield from _rolled(stack, change, found, live)
        yield from _scaled(stack, change, found, live)


def _of_the_nodes(change: ResourceChange) -> set[str]:
    return {path for path in change.paths if path.partition("/")[0] in _OF_THE_NODES}


def _rejections(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None) -> Iterator[Finding]:
    if change.action != "update":
        return
    nodes = _of_the_nodes(change)
    settings = {path for path in change.paths if path not in nodes and path not in _NO_UPDATE}
    subject, keys = stack.title(change), stack.keys(change)
    if nodes and settings:
        effect = "its nodes and its settings change, and CloudFormation rejects both in one deployment"
        then = ", ".join(sorted(settings))
        remedy = _TWICE.format(first=f"with the deployed values of {then}", then="with the new ones")
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    if found and found.status in _DEGRADED:
        issues = f" ({'; '.join(found.issues)})" if found.issues else ""
        effect = f"it is {found.status}{issues}, and EKS updates it only after a node has started"
        remedy = "fix the reason, or delete the group in a deployment without it, and add it again"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    if nodes and found and found.desired and change.old.get("CapacityType") == _BLOCK:
        effect = "EKS does not update the nodes of a Capacity Block one after the other"
        remedy = "set desired_size: 0 and min_size: 0, deploy, then deploy this change"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)


def _stopped(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    nodes = found.desired if found else 0
    if not nodes:
        return
    name = group_name(change)
    created = [each for each in stack.of_kind(NODE_GROUP) if each.action == "create" and group_name(each) == name]
    what = "a new group takes its place" if created or change.action == "replace" else "deleted"
    jobs = live.jobs_on(name)
    effect = f"{what}: its {nodes} nodes stop{_named(jobs)}"
    remedy = "let the jobs end, or suspend them, and deploy when none runs" if jobs.held or jobs.others else ""
    yield Finding(outcome=STOPS, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _rolled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    if not found or not found.desired:
        return
    jobs = live.jobs_on(group_name(change))
    subject, keys = stack.title(change), stack.keys(change)
    if jobs.held:
        held = ", ".join(jobs.held)
        effect = f"its {found.desired} nodes are replaced, which {held} holds: the update fails after 15 minutes"
        remedy = "let the jobs end, or suspend them, and deploy when none runs"
        yield Finding(outcome=REJECTED, subject=subject, effect=effect, keys=keys, remedy=remedy)
    else:
        effect = f"its {found.desired} nodes are replaced one after the other{_named(jobs)}"
        yield Finding(outcome=STOPS, subject=subject, effect=effect, keys=keys)


def _scaled(stack: PlannedStack, change: ResourceChange, found: LiveNodeGroup | None, live: Live) -> Iterator[Finding]:
    """A changed size sends the desired size too, whatever the autoscaler has made of it."""
    if change.action != "update" or not any(path.startswith("ScalingConfig") for path in change.paths) or not found:
        return
    wanted = value_at(change.new, "ScalingConfig/DesiredSize")
    if isinstance(wanted, int) and wanted < found.desired:
        jobs = live.jobs_on(group_name(change))
        effect = (
            f"its desired size becomes {wanted}: {found.desired - wanted} of {found.desired} nodes stop{_named(jobs)}"
        )
        remedy = f"set node_groups.{group_name(change)}.desired_size to {found.desired}, or deploy when no job runs"
        yield Finding(outcome=STOPS, subject=stack.title(change), effect=effect, keys=stack.keys(change), remedy=remedy)


def _named(jobs: Jobs) -> str:
    names = [*jobs.held, *jobs.others]
    return f", with {', '.join(names)}" if names else ""


#: A rule: the effects of one kind.
Rule = Callable[[PlannedStack, Live], Iterator[Finding]]

#: In the order of the table.
RULES: tuple[Rule, ...] = (
    data_is_deleted,
    namespaces_and_definitions_are_deleted,
    releases_are_uninstalled,
    identities_are_fixed,
    names_are_taken,
    addresses_are_taken,
    cluster_stays_in_its_vpc,
    exports_are_imported,
    objects_move,
    volumes_change,
    storage_shrinks,
    data_repositories_overlap,
    node_groups_are_updated,
)
