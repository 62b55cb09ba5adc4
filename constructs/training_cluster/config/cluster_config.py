"""The configuration of a cluster, and the rules over more than one of its sections."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from training_cluster.cluster.access import PublicCidrs, public_access_is_limited
from training_cluster.cluster.addons import ADDRESSES_PER_NODE
from training_cluster.config.addon_config import AddonConfig
from training_cluster.config.existing_data import ExistingDataConfig, key_is_of_the_region
from training_cluster.config.role_config import RoleConfig
from training_cluster.config.sections import GpuNodeGroupConfig, LustreConfig, SageMakerConfig
from training_cluster.identity.job_identity import JobIdentitySpec
from training_cluster.identity.principal_arns import PrincipalArns
from training_cluster.monitoring.alarms import Email
from training_cluster.network.addresses import private_subnet_prefix, usable_addresses
from training_cluster.network.training_network import DEFAULT_ZONES, region_of
from training_cluster.nodes.ami_release import valid_ami_release
from training_cluster.nodes.gpu_node_group import node_group_label
from training_cluster.nodes.node_placement import reservation_group_region
from training_cluster.nodes.system_nodes_spec import SystemNodesSpec
from training_cluster.platform.job_queue import JobQueueSpec, fits_a_topology, valid_flavor
from training_cluster.platform.pre_pulled_images import Images
from training_cluster.team.team_spec import TeamSpec, in_folder, valid_teams
from training_workloads.catalog.registries import has_eks_registry
from training_workloads.catalog.versions import KUBERNETES_VERSION, KUBERNETES_VERSIONS
from training_workloads.names import DNS_LABEL, DNS_LABEL_LENGTH, DNS_LABEL_RULE, dns_label
from training_workloads.platform.mirror import ecr_registry, mirror_in_partition, mirror_is_dual_stack, registry_region
from training_workloads.platform.queue_manifests import flavor_name
from training_workloads.spec import Checked, switch
from training_workloads.validation import MISSING, Path, Problem, Problems, at_least, dotted, one_of
from training_workloads.yaml_lines import Typed

__all__ = ["ClusterConfig"]

_NODE_GROUP = "gpu: {instance_type: …, min_size: 0}"

# A template has at most 500 resources and 1 MB; 30 node groups of p5.48xlarge are 295 resources and 0.91 MB:
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
_MOST_NODE_GROUPS = 30

# What leaves a cluster with the registries of ECR in its region, through the interface endpoints.
_NAT: tuple[Path, ...] = (("nat",),)
_WITH_ZONES: tuple[Path, ...] = (*_NAT, ("availability_zones",))

# EKS needs 16 free addresses in each subnet of its control plane:
# https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
_EKS_ADDRESSES = 16


def _name(name: str, value: str, pattern: str, rule: str) -> Problems:
    """Reject a key of the user's choice in another form."""
    if not re.fullmatch(pattern, value):
        yield Problem(path=(name,), given=value, allowed="it is not valid as a name", fix=f"use {rule}")


def _some_node_groups(name: str, groups: Mapping[str, GpuNodeGroupConfig]) -> Problems:
    """Require one, which may be scaled to zero, and not more than fit in a stack, which jsii reports as a traceback."""
    if not groups:
        yield Problem(path=(name,), given=groups, fix=f"add one, such as {_NODE_GROUP}")
    if (number := len(groups)) > _MOST_NODE_GROUPS:
        allowed = f"the stack holds at most {_MOST_NODE_GROUPS}: CloudFormation accepts 500 resources and 1 MB"
        fix = "define fewer, or a second cluster in another stack"
        yield Problem(path=(name,), given=Typed(f"{number} node groups"), allowed=allowed, fix=fix)


# It becomes an id in the tree, and so part of CloudFormation's.
_NodeGroupName = Annotated[
    str, Checked(_name, r"[A-Za-z][A-Za-z0-9-]*", "letters, digits and '-', a letter first", typed=True)
]
_TeamName = Annotated[str, Checked(_name, DNS_LABEL, DNS_LABEL_RULE, typed=True)]
_ServiceAccountName = Annotated[str, Checked(_name, DNS_LABEL, DNS_LABEL_RULE, typed=True)]


class ClusterConfig(RoleConfig, ExistingDataConfig, AddonConfig):
    """The configuration of one cluster.

    Attributes:
        node_groups: GPU node groups by name, one to 30.
        system_nodes: The nodes of the operator, the launchers and the cluster's own services. Default: two, up to three
            during a replacement.
        lustre: The Lustre file system that jobs mount at `/fsx`. Default: 1200 GiB, PERSISTENT_2.
        efs: Whether there is an EFS file system too, for code and notebooks. It stays when the cluster is destroyed,
            and the next cluster gets a new one: `existing_efs` names it.
        existing_lustre: A Lustre file system in that VPC, in place of `lustre`. Default: a new one.
        kubernetes_version: Release of EKS, in quotes: 1.34, 1.35, 1.36 or 1.37. One release at a time.
        nat: Whether nodes reach the internet through a NAT gateway. Without it they reach AWS through interface
            endpoints and nothing else: `mirror` is required, and images of `pre_pull_images` from ECR, both of the
            cluster's region.
        job_queue: Kueue, and a queue in which jobs wait until the node groups have room; `true` for its defaults.
            Default: none.
        gang_scheduler: Scheduler that starts all workers of a job together: `volcano`, or the name of one with the
            coscheduling plugin. It must be installed in the cluster. Default: none.
        mirror: Address of an ECR registry of the same partition (also `dkr.ecr-fips`, `dkr-ecr`) that holds
            copies of charts and images; `trainctl platform mirror-commands <registry>` prints how to fill it. Default:
            the upstream registries.
        pre_pull_images: Addresses of images that every GPU node pulls when it joins. Default: none.
        public_access_cidrs: Addresses that reach the Kubernetes API from outside the VPC. Default: none.
        allow_any_address: Whether `public_access_cidrs` may contain 0.0.0.0/0.
        admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
        service_accounts: Permissions of jobs in S3, by the name of their service account. Default: none; Lustre needs
            none.
        teams: Teams that share the cluster, by name: each has a namespace that others cannot enter, and a part of the
            GPUs. They need `job_queue`. Default: none; all who use the cluster trust each other.
        gpu_details: Whether CloudWatch gets more metrics: why GPUs ran below their clocks, NVLink and energy.
        sagemaker: Training on SageMaker beside the cluster or without it, in `SageMakerTrainingStack`; `true` for its
            defaults. Default: none.
        deletion_protection: Whether EKS and CloudFormation reject the deletion of the cluster and of both stacks; false
            ends it. Set it after the first deployment, which could not be rolled back with it. Default: EKS's stays as
            it is, CloudFormation's is off.
        alarm_email: Address that gets a message when GPUs are idle, Lustre fills up or a node fails. Default: none.
        monthly_budget_usd: Budget of the account in US dollars a month; `alarm_email` gets a message at 80 % and when
            the forecast exceeds it. Default: no budget.
    """

    node_groups: Annotated[dict[_NodeGroupName, GpuNodeGroupConfig], Checked(_some_node_groups, typed=True)] = Field(
        examples=[_NODE_GROUP]
    )
    system_nodes: SystemNodesSpec = Field(default=SystemNodesSpec(), examples=["instance_type: m6i.xlarge"])
    lustre: LustreConfig = Field(default=LustreConfig(), examples=["capacity_gib: 1200"])
    kubernetes_version: Annotated[str, Checked(one_of, KUBERNETES_VERSIONS, typed=True)] = KUBERNETES_VERSION
    nat: bool = True
    job_queue: Annotated[JobQueueSpec | None, BeforeValidator(switch)] = Field(
        default=None, examples=["queue_name: gpu"]
    )
    gang_scheduler: Annotated[str, Checked(dns_label, typed=True)] | None = Field(default=None, examples=["volcano"])
    mirror: Annotated[str, Checked(ecr_registry, typed=True)] | None = Field(
        default=None, examples=["111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"]
    )
    pre_pull_images: Images = Field(default=(), examples=["[111122223333.dkr.ecr.us-west-2.amazonaws.com/training:1]"])
    public_access_cidrs: PublicCidrs = Field(default=(), examples=["[203.0.113.7/32]"])
    allow_any_address: bool = False
    admin_arns: PrincipalArns = Field(default=(), examples=["[arn:aws:iam::111122223333:role/Admin]"])
    service_accounts: dict[_ServiceAccountName, JobIdentitySpec] = Field(
        default={}, examples=["trainer: {prefix: runs}"]
    )
    teams: dict[_TeamName, TeamSpec] = Field(default={}, examples=["vision: {user_id: 2001, gpus: {gpu: 8}}"])
    gpu_details: bool = False
    sagemaker: Annotated[SageMakerConfig | None, BeforeValidator(switch)] = Field(
        default=None, examples=["notebook: true"]
    )
    deletion_protection: bool | None = Field(default=None, examples=["true"])
    alarm_email: Email | None = Field(default=None, examples=["team@example.com"])
    monthly_budget_usd: Annotated[int, Checked(at_least, 1)] | None = Field(default=None, examples=[20000])

    @property
    def training_zone(self) -> str | None:
        """Zone of the GPU nodes and of the file system; None for the first of the region."""
        return next(iter([*_named_zones(self).values(), *self.availability_zones]), None)


@ClusterConfig.rule
def node_groups_have_separate_labels(config: ClusterConfig) -> Problems:
    """Jobs select the nodes of a group by its label."""
    for label, (first, *others) in _by_label(config).items():
        for name in others:
            yield Problem(
                path=("node_groups", name),
                given=name,
                allowed=f"its nodes would have the label {label!r}, as those of {first!r}: a label has at most "
                f"{DNS_LABEL_LENGTH} characters, and no '-' at its end",
                fix="give one of the two another name",
            )


@ClusterConfig.rule
def node_groups_have_a_flavor_of_the_queue(config: ClusterConfig) -> Problems:
    """Each becomes an object of Kueue, beside that of the launchers."""
    flavors: list[str] = []
    # Groups of one label are reported as such.
    for name in (names[0] for names in _by_label(config).values()) if config.job_queue else ():
        yield from valid_flavor(("node_groups", name), name, flavors)
        flavors.append(flavor_name(name))


@ClusterConfig.rule
def node_groups_fit_the_topology(config: ClusterConfig) -> Problems:
    """Kueue does not count the nodes that the autoscaler could start."""
    if config.job_queue and config.job_queue.topology:
        for name, group in config.node_groups.items():
            related: tuple[Path, ...] = (("node_groups", name, "max_size"), ("node_groups", name, "capacity_type"))
            for problem in fits_a_topology(name, group):
                yield replace(problem.under("job_queue"), related=related)


@ClusterConfig.rule
def ami_releases_are_of_the_kubernetes_version(config: ClusterConfig) -> Problems:
    """EKS rejects nodes of another release than the node group's, which is the cluster's."""
    for name, group in config.node_groups.items():
        for problem in valid_ami_release(group.ami_release, config.kubernetes_version):
            yield replace(problem, path=("node_groups", name, *problem.path))
    for problem in valid_ami_release(config.system_nodes.ami_release, config.kubernetes_version):
        yield replace(problem, path=("system_nodes", *problem.path))


@ClusterConfig.rule
def public_access_is_narrow(config: ClusterConfig) -> Problems:
    """The API is private, or open to a list of addresses."""
    yield from public_access_is_limited(config.public_access_cidrs, allow_any_address=config.allow_any_address)


@ClusterConfig.rule
def mirror_is_of_the_partition(config: ClusterConfig) -> Problems:
    """Nodes of one partition cannot sign in to a registry of another."""
    region = _region(config)
    if region and config.mirror is not None:
        yield from mirror_in_partition("mirror", config.mirror, region)


@ClusterConfig.rule
def efa_plugin_has_a_registry(config: ClusterConfig) -> Problems:
    """Nodes of one partition cannot pull the image of the EFA plugin from a registry of another."""
    region = _region(config)
    if region and config.mirror is None and any(group.efa_interfaces for group in config.node_groups.values()):
        yield from has_eks_registry(region)


@ClusterConfig.rule
def existing_key_is_of_the_region(config: ClusterConfig) -> Problems:
    """The services of a region use its keys only."""
    yield from key_is_of_the_region(config.existing_key, _region(config))


@ClusterConfig.rule
def without_nat_the_mirror_has_an_endpoint(config: ClusterConfig) -> Problems:
    """Without the internet neither charts nor images come from the upstream registries, or from another region.

    Endpoints serve the address for IPv4 only, and `nat: false` makes those of the cluster's region:
    https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-requests.html and
    https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-cross-region-privatelink-support.html
    (read 2026-11-23)
    """
    path, mirror = ("mirror",), config.mirror
    if config.nat:
        return
    if mirror is None:
        fix = "run 'trainctl platform mirror-commands <ECR registry>' to see how to copy charts and images there"
        yield Problem(path=path, given=MISSING, allowed="nat: false needs it", fix=fix, related=_NAT)
    elif mirror_is_dual_stack(mirror):
        allowed = "nat: false needs the address for IPv4, the only one that interface endpoints serve"
        fix = "give the registry with .dkr.ecr. in its address"
        yield Problem(path=path, given=mirror, allowed=allowed, fix=fix, related=_NAT)
    elif (region := _region(config)) and not any(mirror_in_partition("", mirror, region)):
        yield from _of_the_region(path, mirror, mirror, region)


@ClusterConfig.rule
def without_nat_images_come_from_ecr(config: ClusterConfig) -> Problems:
    """Without the internet a node reaches no other registry, and a pod with another image never starts."""
    for index, image in enumerate(() if config.nat else config.pre_pull_images):
        path, registry = ("pre_pull_images", index), image.partition("/")[0]
        if any(ecr_registry("", registry)) or mirror_is_dual_stack(registry):
            allowed = "nat: false leaves private repositories in ECR only, by their addresses with .dkr.ecr."
            fix = "give the address of a copy in ECR of the cluster's region"
            yield Problem(path=path, given=image, allowed=allowed, fix=fix, related=_NAT)
        elif region := _region(config):
            yield from _of_the_region(path, image, registry, region)


def _of_the_region(path: Path, given: str, registry: str, region: str) -> Problems:
    if (there := registry_region(registry)) != region:
        allowed = f"it is in {there}, and nat: false makes endpoints of {region} only, the region of availability_zones"
        fix = f"copy it to a registry of {region}, and give that address"
        yield Problem(path=path, given=given, allowed=allowed, fix=fix, related=_WITH_ZONES)


@ClusterConfig.rule
def named_zones_are_zones_of_the_network(config: ClusterConfig) -> Problems:
    """The VPC has subnets in `availability_zones` only."""
    zones = ", ".join(config.availability_zones) or "empty"
    for path, zone in _named_zones(config).items():
        if zone not in config.availability_zones:
            allowed, fix = f"availability_zones is {zones}", f"add the zone there, or omit {dotted(path)}"
            yield Problem(path=path, given=zone, allowed=allowed, fix=fix, related=(("availability_zones",),))


@ClusterConfig.rule
def nodes_and_file_system_share_a_zone(config: ClusterConfig) -> Problems:
    """EFA does not cross zones, and Lustre traffic between zones is slow and costs money."""
    named = _named_zones(config)
    first = next(iter(named), ())
    fix = (
        "give all nodes and the file system one zone, or add the zone to lustre.further_zones for a second file system"
    )
    if config.existing_lustre:
        # `lustre` describes new file systems, and is rejected beside an existing one.
        fix = "give all nodes the zone of existing_lustre, or define a second cluster with the file system of that zone"
    for path, zone in named.items():
        if zone != named[first] and zone not in config.lustre.further_zones:
            yield Problem(
                path=path,
                given=zone,
                allowed=f"{dotted(first)} is {named[first]!r}",
                fix=f"{fix}: EFA does not cross zones, and Lustre traffic between them is slow and costs money",
                related=(first, ("lustre", "further_zones")),
            )


@ClusterConfig.rule
def further_zones_are_other_zones_with_nodes(config: ClusterConfig) -> Problems:
    """Each file system is in a zone of the VPC, no zone needs two, and without nodes it is paid for and not read."""
    path, zones, of_network = ("lustre", "further_zones"), config.lustre.further_zones, config.availability_zones
    related: tuple[Path, ...] = (("availability_zones",), ("lustre", "availability_zone"))
    for zone in zones:
        if zone not in of_network:
            allowed = f"availability_zones is {', '.join(of_network) or 'empty'}"
            yield Problem(path=path, given=zones, allowed=allowed, fix=f"add {zone} there", related=related)
        elif zone == config.training_zone:
            fix = f"omit {zone}: it has the first file system"
            yield Problem(path=path, given=zones, fix=fix, related=related)
        elif all(zone != group.availability_zone for group in config.node_groups.values()):
            allowed, fix = f"no node group is in {zone}", f"give one 'availability_zone: {zone}', or omit the zone"
            yield Problem(path=path, given=zones, allowed=allowed, fix=fix, related=(*related, ("node_groups",)))
    if len(set(zones)) < len(zones):
        yield Problem(path=path, given=zones, fix="give each zone once")


@ClusterConfig.rule
def reserved_capacity_names_its_zone(config: ClusterConfig) -> Problems:
    """A reservation belongs to one zone, which is seldom the first zone of the region."""
    for name, group in config.node_groups.items():
        if group.capacity_reservation_id and not config.availability_zones:
            yield Problem(
                path=("node_groups", name, "capacity_reservation_id"),
                given=group.capacity_reservation_id,
                allowed="availability_zones is empty",
                fix="name two zones there, the zone of the reservation first",
                related=(("availability_zones",),),
            )


@ClusterConfig.rule
def reservation_groups_are_of_the_region(config: ClusterConfig) -> Problems:
    """A resource group holds the reservations of its region."""
    region = _region(config)
    for name, group in config.node_groups.items():
        found = reservation_group_region(group.capacity_reservation_id)
        if found and region and found != region:
            yield Problem(
                path=("node_groups", name, "capacity_reservation_id"),
                given=group.capacity_reservation_id,
                allowed=f"availability_zones are of {region}",
                fix=f"give a resource group of {region}, or the zones of {found}",
                related=(("availability_zones",),),
            )


@ClusterConfig.rule
def training_subnet_holds_the_nodes(config: ClusterConfig) -> Problems:
    """Nodes beyond the addresses of the subnet do not start, and pods beyond them have no network."""
    if config.existing_vpc:
        return
    by_zone: dict[str | None, dict[str, GpuNodeGroupConfig]] = {}
    for name, group in config.node_groups.items():
        by_zone.setdefault(group.availability_zone or config.training_zone, {})[name] = group
    for groups in by_zone.values():
        yield from _subnet_holds_nodes(config, groups)


def _subnet_holds_nodes(config: ClusterConfig, node_groups: Mapping[str, GpuNodeGroupConfig]) -> Problems:
    """Reject node groups of one zone that need more addresses than its subnet has."""
    prefix = private_subnet_prefix(config.vpc_cidr, len(config.availability_zones) or DEFAULT_ZONES)
    # Each system node may be in any zone.
    free = usable_addresses(prefix) - _EKS_ADDRESSES - config.system_nodes.maximum * ADDRESSES_PER_NODE
    wanted = {name: each.maximum * (ADDRESSES_PER_NODE - 1 + each.ip_interfaces) for name, each in node_groups.items()}
    if sum(wanted.values()) > free:
        groups = ", ".join(f"{name} at max_size {node_groups[name].maximum}: {wanted[name]}" for name in wanted)
        yield Problem(
            path=("vpc_cidr",),
            given=config.vpc_cidr,
            allowed=f"its subnets (/{prefix}) have {free} addresses for GPU nodes and their pods, and the node groups "
            f"can take {sum(wanted.values())} ({groups})",
            fix="give a larger range, fewer zones, or lower max_size",
            related=(("availability_zones",), *(("node_groups", name, "max_size") for name in wanted)),
        )


@ClusterConfig.rule
def budget_has_a_reader(config: ClusterConfig) -> Problems:
    """A budget without an address limits nothing."""
    if config.monthly_budget_usd is not None and config.alarm_email is None:
        allowed, fix = "monthly_budget_usd needs it", "add the address that gets the messages"
        related: tuple[Path, ...] = (("monthly_budget_usd",),)
        yield Problem(path=("alarm_email",), given=MISSING, allowed=allowed, fix=fix, related=related)


@ClusterConfig.rule
def teams_are_separate(config: ClusterConfig) -> Problems:
    """Reject teams that share what separates them, and more GPUs by right than there are."""
    gpus = {name: group.maximum * group.instance.gpus for name, group in config.node_groups.items()}
    for problem in valid_teams(config.teams, gpus=gpus, admin_arns=config.admin_arns):
        yield problem.under("teams")


@ClusterConfig.rule
def teams_have_a_queue(config: ClusterConfig) -> Problems:
    """Without a queue every team takes all GPUs that are free."""
    if config.teams and config.job_queue is None:
        allowed, fix = "teams get their GPUs from the queue", "add 'job_queue: true'"
        yield Problem(path=("job_queue",), given=MISSING, allowed=allowed, fix=fix, related=(("teams",),))


@ClusterConfig.rule
def service_accounts_of_a_team_stay_in_its_folder(config: ClusterConfig) -> Problems:
    """A member of the team can start pods with each of them."""
    by_namespace = {team.namespace_of(name): (name, team.prefix_of(name)) for name, team in config.teams.items()}
    for name, account in config.service_accounts.items():
        team, folder = by_namespace.get(account.namespace, ("", "/"))
        if not in_folder(account.prefix, folder):
            yield Problem(
                path=("service_accounts", name, "prefix"),
                given=account.prefix,
                allowed=f"its namespace is that of the team {team!r}, which has the folder {folder!r}",
                fix=f"give that folder or one in it, such as {folder}/runs",
                related=(("teams", team),),
            )


def _by_label(config: ClusterConfig) -> dict[str, list[str]]:
    """Return the names of the node groups by the label of their nodes."""
    labels: dict[str, list[str]] = {}
    for name in config.node_groups:
        labels.setdefault(node_group_label(name), []).append(name)
    return labels


def _region(config: ClusterConfig) -> str | None:
    """Return the region of the zones; None without zones."""
    return region_of(config.availability_zones[0]) if config.availability_zones else None


def _named_zones(config: ClusterConfig) -> dict[Path, str]:
    """Return every zone that a section names, by its path."""
    return {path: zone for path, zone in _zones(config) if zone is not None}


def _zones(config: ClusterConfig) -> Iterator[tuple[Path, str | None]]:
    yield ("lustre", "availability_zone"), config.lustre.availability_zone
    for name, group in config.node_groups.items():
        yield ("node_groups", name, "availability_zone"), group.availability_zone
