"""The configuration of a cluster, and the rules over more than one of its sections."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from training_cluster.cluster.access import valid_admin_arns, valid_public_access_cidrs
from training_cluster.cluster.kubectl_layer import valid_kubernetes_version
from training_cluster.config.existing import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_cluster.config.existing_rules import EXISTING_RULES
from training_cluster.config.further_zones import valid_further_zones
from training_cluster.config.registries import images_without_nat, mirror_without_nat
from training_cluster.config.sagemaker_section import SageMakerSection
from training_cluster.config.sections import GpuNodeGroupConfig, JobQueueSection, LustreConfig, ServiceAccountConfig
from training_cluster.config.subnet_size import subnet_holds_nodes
from training_cluster.monitoring.alarms import valid_email
from training_cluster.network.addresses import valid_vpc_cidr
from training_cluster.network.training_network import DEFAULT_ZONES, region_of, valid_zones
from training_cluster.nodes.ami_release import valid_ami_release
from training_cluster.nodes.gpu_node_group import node_group_label
from training_cluster.platform.job_queue import fits_a_topology, valid_flavor
from training_cluster.platform.pre_pulled_images import valid_images
from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.names import DNS_LABEL, DNS_LABEL_LENGTH, DNS_LABEL_RULE
from training_workloads.platform.mirror import ecr_registry, mirror_in_partition
from training_workloads.platform.queue_manifests import flavor_name
from training_workloads.spec import Spec
from training_workloads.validation import (
    MISSING,
    InputError,
    Path,
    Problem,
    Problems,
    at_least,
    dotted,
    enforce,
    matches,
)
from training_workloads.yaml_lines import Typed

__all__ = ["ClusterConfig"]

_NODE_GROUP = "gpu: {instance_type: …, min_size: 0}"

# A template has at most 500 resources and 1 MB; 30 node groups of p5.48xlarge are 295 resources and 0.91 MB:
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
_MOST_NODE_GROUPS = 30


def _name(pattern: str, rule: str) -> AfterValidator:
    """Return the validator of a key that the user chose."""

    def validate(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise InputError(Problem(path=(), given=name, allowed="it is not valid as a name", fix=f"use {rule}"))
        return name

    return AfterValidator(validate)


# It becomes an id in the tree, and so part of CloudFormation's.
_NodeGroupName = Annotated[str, _name(r"[A-Za-z][A-Za-z0-9-]*", "letters, digits and '-', a letter first")]
_ServiceAccountName = Annotated[str, _name(DNS_LABEL, DNS_LABEL_RULE)]


class ClusterConfig(Spec):
    """The configuration of one cluster.

    Attributes:
        node_groups: GPU node groups by name.
        lustre: The Lustre file system. Default: 1200 GiB, PERSISTENT_2.
        efs: Whether there is an EFS file system too, for code and notebooks. It stays when the cluster is destroyed,
            and the next cluster gets a new one: `existing_efs` names it. Default: no.
        existing_vpc: A VPC to use in place of a new one. Default: a new one.
        existing_lustre: A Lustre file system in that VPC, in place of `lustre`. Default: a new one.
        existing_efs: An EFS file system in that VPC, in place of `efs`. Default: none.
        kubernetes_version: Release of EKS. Default: the newest of the catalog.
        vpc_cidr: Address range of the VPC, /16 to /20. Default: 10.0.0.0/16.
        availability_zones: Names of two or more zones, the one with the GPU capacity first. Default: the first two of
            the region.
        nat: Whether nodes reach the internet through a NAT gateway. Without it they reach AWS through interface
            endpoints and nothing else, and `mirror` is required.
        job_queue: The queue in which jobs can wait, and which admits them when the node groups have room; `true` for
            its defaults. Default: none.
        ebs: Whether claims can have volumes on EBS, by a default StorageClass gp3. Default: no.
        metrics_server: Whether `kubectl top` shows what nodes and pods use. Default: no.
        gang_scheduler: Scheduler that starts all workers of a job together: `volcano`, or the name of one with the
            coscheduling plugin. It must be installed in the cluster. Default: none.
        mirror: ECR registry with copies of charts and images. Default: the upstream registries.
        pre_pull_images: Addresses of images that every GPU node pulls when it joins. Default: none.
        public_access_cidrs: Addresses that reach the Kubernetes API from outside the VPC. Default: none.
        allow_any_address: Whether `public_access_cidrs` may contain 0.0.0.0/0. Default: no.
        admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
        service_accounts: Permissions of jobs in S3, by the name of their service account. Default: none; Lustre needs
            none.
        gpu_details: Whether CloudWatch gets why GPUs ran below their clocks, NVLink and energy. Default: no.
        alarm_email: Address that gets a message when GPUs are idle, Lustre fills up or a node fails. Default: none.
        sagemaker: Training on SageMaker beside the cluster or without it; `true` for its defaults. Default: none.
        monthly_budget_usd: Budget of the account in US dollars a month; `alarm_email` gets a message at 80 % and when
            the forecast exceeds it. Default: no budget.
    """

    node_groups: dict[_NodeGroupName, GpuNodeGroupConfig] = Field(
        default={}, examples=["gpu: {instance_type: …, min_size: 0}"]
    )
    lustre: LustreConfig = Field(default=LustreConfig(), examples=["capacity_gib: 1200"])
    efs: bool = False
    existing_vpc: ExistingVpcConfig | None = Field(default=None, examples=["{vpc_id: …, private_subnet_ids: […]}"])
    existing_lustre: ExistingLustreConfig | None = Field(
        default=None, examples=["{file_system_id: …, mount_name: …, capacity_gib: …}"]
    )
    existing_efs: ExistingEfsConfig | None = Field(default=None, examples=["{file_system_id: …, access_point_id: …}"])
    kubernetes_version: str = KUBERNETES_VERSION
    vpc_cidr: str = "10.0.0.0/16"
    availability_zones: tuple[str, ...] = Field(default=(), examples=["[us-east-1a, us-east-1b]"])
    nat: bool = True
    job_queue: JobQueueSection = Field(default=None, examples=["queue_name: gpu"])
    ebs: bool = False
    metrics_server: bool = False
    gang_scheduler: str | None = Field(default=None, examples=["volcano"])
    mirror: str | None = Field(default=None, examples=["111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"])
    pre_pull_images: tuple[str, ...] = Field(
        default=(), examples=["[111122223333.dkr.ecr.us-west-2.amazonaws.com/training:1]"]
    )
    public_access_cidrs: tuple[str, ...] = Field(default=(), examples=["[203.0.113.7/32]"])
    allow_any_address: bool = False
    admin_arns: tuple[str, ...] = Field(default=(), examples=["[arn:aws:iam::111122223333:role/Admin]"])
    service_accounts: dict[_ServiceAccountName, ServiceAccountConfig] = Field(
        default={}, examples=["trainer: {prefix: runs}"]
    )
    gpu_details: bool = False
    sagemaker: SageMakerSection = Field(default=None, examples=["notebook: true"])
    alarm_email: str | None = Field(default=None, examples=["team@example.com"])
    monthly_budget_usd: int | None = Field(default=None, examples=[20000])

    @model_validator(mode="after")
    def _check(self) -> "ClusterConfig":
        enforce(self, RULES)
        return self

    @property
    def training_zone(self) -> str | None:
        """Zone of the GPU nodes and of the file system; None for the first of the region."""
        return next(iter([*_named_zones(self).values(), *self.availability_zones]), None)


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


def node_groups_have_a_flavor_of_the_queue(config: ClusterConfig) -> Problems:
    """Each becomes an object of Kueue, beside that of the launchers."""
    flavors: list[str] = []
    # Groups of one label are reported as such.
    for name in (names[0] for names in _by_label(config).values()) if config.job_queue else ():
        yield from valid_flavor(("node_groups", name), name, flavors)
        flavors.append(flavor_name(name))


def node_groups_fit_the_topology(config: ClusterConfig) -> Problems:
    """Kueue does not count the nodes that the autoscaler could start."""
    if config.job_queue and config.job_queue.topology:
        for name, group in config.node_groups.items():
            related: tuple[Path, ...] = (("node_groups", name, "max_size"), ("node_groups", name, "capacity_type"))
            for problem in fits_a_topology(name, group.spec):
                yield replace(problem.under("job_queue"), related=related)


def there_is_a_node_group(config: ClusterConfig) -> Problems:
    """Reject a training cluster without GPUs; one scaled to zero is allowed."""
    if not config.node_groups:
        yield Problem(path=("node_groups",), given=config.node_groups, fix=f"add one, such as {_NODE_GROUP}")


def node_groups_fit_in_a_stack(config: ClusterConfig) -> Problems:
    """Reject more node groups than CloudFormation accepts in one stack, which jsii reports as a traceback."""
    if (number := len(config.node_groups)) > _MOST_NODE_GROUPS:
        allowed = f"the stack holds at most {_MOST_NODE_GROUPS}: CloudFormation accepts 500 resources and 1 MB"
        given = Typed(f"{number} node groups")
        fix = "define fewer, or a second cluster in another stack"
        yield Problem(path=("node_groups",), given=given, allowed=allowed, fix=fix)


def kubernetes_version_is_known(config: ClusterConfig) -> Problems:
    """Each release needs its kubectl layer and its autoscaler."""
    yield from valid_kubernetes_version("kubernetes_version", config.kubernetes_version)


def ami_releases_are_of_the_kubernetes_version(config: ClusterConfig) -> Problems:
    """EKS rejects nodes of another release than the node group's, which is the cluster's."""
    for name, group in config.node_groups.items():
        for problem in valid_ami_release(group.ami_release, config.kubernetes_version):
            yield replace(problem, path=("node_groups", name, *problem.path))


def vpc_cidr_is_one_of_a_vpc(config: ClusterConfig) -> Problems:
    """EC2 must accept the range, and EKS must fit in it."""
    yield from valid_vpc_cidr("vpc_cidr", config.vpc_cidr)


def availability_zones_are_two_or_none(config: ClusterConfig) -> Problems:
    """EKS needs two zones."""
    yield from valid_zones("availability_zones", config.availability_zones)


def public_access_is_limited(config: ClusterConfig) -> Problems:
    """The API is private, or open to a list of addresses."""
    cidrs, anywhere = config.public_access_cidrs, config.allow_any_address
    yield from valid_public_access_cidrs("public_access_cidrs", cidrs, allow_any_address=anywhere)


def administrators_are_roles_or_users(config: ClusterConfig) -> Problems:
    """Access entries accept neither sessions nor duplicates."""
    yield from valid_admin_arns("admin_arns", config.admin_arns)


def gang_scheduler_is_a_name(config: ClusterConfig) -> Problems:
    """The name of a scheduler goes into the pods unchanged."""
    if config.gang_scheduler is not None:
        yield from matches("gang_scheduler", config.gang_scheduler, DNS_LABEL, DNS_LABEL_RULE)


def mirror_is_a_registry(config: ClusterConfig) -> Problems:
    """The function with kubectl logs in to ECR and to no other registry."""
    if config.mirror is not None:
        yield from ecr_registry("mirror", config.mirror)


def pre_pull_images_are_addresses(config: ClusterConfig) -> Problems:
    """A pod with another address never starts."""
    if config.pre_pull_images:
        yield from valid_images("pre_pull_images", config.pre_pull_images)


def mirror_is_of_the_partition(config: ClusterConfig) -> Problems:
    """Nodes of one partition cannot sign in to a registry of another."""
    region = _region(config)
    if region and config.mirror is not None and not any(mirror_is_a_registry(config)):
        yield from mirror_in_partition("mirror", config.mirror, region)


def without_nat_the_mirror_has_an_endpoint(config: ClusterConfig) -> Problems:
    """Without the internet neither charts nor images come from the upstream registries, or from another region."""
    if not config.nat:
        yield from mirror_without_nat(config.mirror, _region(config))


def without_nat_images_come_from_ecr(config: ClusterConfig) -> Problems:
    """Without the internet a node reaches no other registry."""
    if not config.nat and not any(pre_pull_images_are_addresses(config)):
        yield from images_without_nat(config.pre_pull_images, _region(config))


def named_zones_are_zones_of_the_network(config: ClusterConfig) -> Problems:
    """The VPC has subnets in `availability_zones` only."""
    zones = ", ".join(config.availability_zones) or "empty"
    for path, zone in _named_zones(config).items():
        if zone not in config.availability_zones:
            allowed, fix = f"availability_zones is {zones}", f"add the zone there, or omit {dotted(path)}"
            yield Problem(path=path, given=zone, allowed=allowed, fix=fix, related=(("availability_zones",),))


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


def further_zones_are_other_zones_with_nodes(config: ClusterConfig) -> Problems:
    """Each file system is in a zone of the VPC, no zone needs two, and without nodes it is paid for and not read."""
    zones, network = config.lustre.further_zones, config.availability_zones
    nodes = {group.availability_zone for group in config.node_groups.values()}
    yield from valid_further_zones(zones, of_network=network, training_zone=config.training_zone, of_nodes=nodes)


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


def training_subnet_holds_the_nodes(config: ClusterConfig) -> Problems:
    """Nodes beyond the addresses of the subnet do not start, and pods beyond them have no network."""
    # Without a range and zones that are valid there is no subnet to measure; other rules report that.
    invalid = any(vpc_cidr_is_one_of_a_vpc(config)) or any(availability_zones_are_two_or_none(config))
    if invalid or config.existing_vpc:
        return
    by_zone: dict[str | None, dict[str, GpuNodeGroupConfig]] = {}
    for name, group in config.node_groups.items():
        by_zone.setdefault(group.availability_zone or config.training_zone, {})[name] = group
    for groups in by_zone.values():
        yield from subnet_holds_nodes(config.vpc_cidr, len(config.availability_zones) or DEFAULT_ZONES, groups)


def alarm_email_is_an_address(config: ClusterConfig) -> Problems:
    """SNS accepts anything and delivers nothing."""
    if config.alarm_email is not None:
        yield from valid_email("alarm_email", config.alarm_email)


def budget_is_a_number(config: ClusterConfig) -> Problems:
    """AWS Budgets needs a positive amount."""
    if config.monthly_budget_usd is not None:
        yield from at_least("monthly_budget_usd", config.monthly_budget_usd, 1)


def budget_has_a_reader(config: ClusterConfig) -> Problems:
    """A budget without an address limits nothing."""
    if config.monthly_budget_usd is not None and config.alarm_email is None:
        allowed, fix = "monthly_budget_usd needs it", "add the address that gets the messages"
        related: tuple[Path, ...] = (("monthly_budget_usd",),)
        yield Problem(path=("alarm_email",), given=MISSING, allowed=allowed, fix=fix, related=related)


def _by_label(config: ClusterConfig) -> dict[str, list[str]]:
    """Return the names of the node groups by the label of their nodes."""
    labels: dict[str, list[str]] = {}
    for name in config.node_groups:
        labels.setdefault(node_group_label(name), []).append(name)
    return labels


def _region(config: ClusterConfig) -> str | None:
    """Return the region of the zones; None without zones, or without valid ones, which another rule reports."""
    valid = not any(availability_zones_are_two_or_none(config))
    return region_of(config.availability_zones[0]) if config.availability_zones and valid else None


def _named_zones(config: ClusterConfig) -> dict[Path, str]:
    """Return every zone that a section names, by its path."""
    return {path: zone for path, zone in _zones(config) if zone is not None}


def _zones(config: ClusterConfig) -> Iterator[tuple[Path, str | None]]:
    yield ("lustre", "availability_zone"), config.lustre.availability_zone
    for name, group in config.node_groups.items():
        yield ("node_groups", name, "availability_zone"), group.availability_zone


RULES = (
    there_is_a_node_group,
    node_groups_fit_in_a_stack,
    kubernetes_version_is_known,
    ami_releases_are_of_the_kubernetes_version,
    vpc_cidr_is_one_of_a_vpc,
    availability_zones_are_two_or_none,
    public_access_is_limited,
    administrators_are_roles_or_users,
    gang_scheduler_is_a_name,
    mirror_is_a_registry,
    pre_pull_images_are_addresses,
    mirror_is_of_the_partition,
    without_nat_the_mirror_has_an_endpoint,
    without_nat_images_come_from_ecr,
    named_zones_are_zones_of_the_network,
    nodes_and_file_system_share_a_zone,
    further_zones_are_other_zones_with_nodes,
    *EXISTING_RULES,
    reserved_capacity_names_its_zone,
    training_subnet_holds_the_nodes,
    alarm_email_is_an_address,
    budget_is_a_number,
    budget_has_a_reader,
    node_groups_have_separate_labels,
    node_groups_have_a_flavor_of_the_queue,
    node_groups_fit_the_topology,
)
