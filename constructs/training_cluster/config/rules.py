"""What a cluster's configuration may be as a whole: one function a rule, applied together by `ClusterConfig`.

What a single section may be stands beside that section (`gpu_node_group_rules`, `lustre_rules`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from training_cluster.cluster.access import check_admin_arns, check_public_access_cidrs
from training_cluster.cluster.addons import ADDRESSES_PER_NODE
from training_cluster.cluster.kubectl_layer import check_kubernetes_version
from training_cluster.monitoring.alarms import valid_email
from training_cluster.network.addresses import private_subnet_prefix, usable_addresses
from training_cluster.network.training_network import check_availability_zones, check_vpc_cidr
from training_cluster.nodes.system_nodes import MOST_SYSTEM_NODES
from training_workloads import InputError
from training_workloads.names import DNS_LABEL, DNS_LABEL_RULE, check_dns_label
from training_workloads.platform.mirror import check_mirror
from training_workloads.validation import Problems, check_at_least, refuse

if TYPE_CHECKING:
    from training_cluster.config.cluster_config import ClusterConfig

__all__ = ["RULES"]

_NODE_GROUP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")

# CDK takes the first two of the region.
_DEFAULT_ZONES = 2

# EKS asks for 16 free addresses in each subnet of its control plane:
# https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
_EKS_ADDRESSES = 16


def there_is_a_node_group(config: ClusterConfig) -> None:
    """A training cluster without GPUs is a mistake; one scaled to zero is not."""
    if not config.node_groups:
        raise InputError("'node_groups' is empty; add one, such as gpu: {instance_type: …, min_size: 0}")


def node_group_names_are_ids(config: ClusterConfig) -> None:
    """Each name becomes an id in the tree, and so part of CloudFormation's."""
    refuse(
        f"'node_groups' has the name {name!r}; use letters, digits and '-', a letter first"
        for name in config.node_groups
        if not _NODE_GROUP_NAME.fullmatch(name)
    )


def kubernetes_version_is_known(config: ClusterConfig) -> None:
    """Each release needs a kubectl layer and an autoscaler of its own."""
    check_kubernetes_version("kubernetes_version", config.kubernetes_version)


def ami_releases_are_of_the_kubernetes_version(config: ClusterConfig) -> None:
    """EKS refuses nodes of another release than the node group's, which is the cluster's."""
    version = config.kubernetes_version
    refuse(
        f"'node_groups.{name}.ami_release' is {spec.ami_release!r}, but kubernetes_version is {version!r}; "
        f"give a release of {version}, or change the version"
        for name, spec in config.node_groups.items()
        if spec.ami_release is not None and not spec.ami_release.startswith(f"{version}.")
    )


def vpc_cidr_is_one_of_a_vpc(config: ClusterConfig) -> None:
    """A range that EC2 takes, large enough for EKS."""
    check_vpc_cidr("vpc_cidr", config.vpc_cidr)


def availability_zones_are_two_or_none(config: ClusterConfig) -> None:
    """EKS needs two zones."""
    check_availability_zones("availability_zones", config.availability_zones)


def public_access_is_limited(config: ClusterConfig) -> None:
    """The API is private, or open to a list of addresses."""
    check_public_access_cidrs(
        "public_access_cidrs", config.public_access_cidrs, allow_any_address=config.allow_any_address
    )


def administrators_are_roles_or_users(config: ClusterConfig) -> None:
    """Access entries take no sessions and no duplicates."""
    check_admin_arns("admin_arns", config.admin_arns)


def gang_scheduler_is_a_name(config: ClusterConfig) -> None:
    """A scheduler's name goes into the pods as it is."""
    if config.gang_scheduler is not None:
        check_dns_label("gang_scheduler", config.gang_scheduler)


def mirror_is_a_registry(config: ClusterConfig) -> None:
    """Kubectl's function logs in to ECR and to no other registry."""
    if config.mirror is not None:
        check_mirror("mirror", config.mirror)


def without_nat_there_is_a_mirror(config: ClusterConfig) -> None:
    """Without a way to the internet neither charts nor images come from their makers."""
    if not config.nat and config.mirror is None:
        raise InputError(
            "'mirror' is missing, and nat: false needs it; 'training-workloads mirror-commands <ECR registry>' prints "
            "how to copy charts and images there"
        )


def service_accounts_are_names(config: ClusterConfig) -> None:
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names."""
    refuse(
        f"'service_accounts' has the name {name!r}; use {DNS_LABEL_RULE}"
        for name in config.service_accounts
        if not re.fullmatch(DNS_LABEL, name)
    )


def named_zones_are_zones_of_the_network(config: ClusterConfig) -> None:
    """A subnet is made in each of `availability_zones` and nowhere else."""
    zones = ", ".join(config.availability_zones) or "empty"
    refuse(
        f"'{key}' is {zone!r}, but availability_zones is {zones}; add the zone there, or leave {key} out"
        for key, zone in _named_zones(config).items()
        if zone not in config.availability_zones
    )


def nodes_and_file_system_share_a_zone(config: ClusterConfig) -> None:
    """EFA does not cross zones, and Lustre traffic between zones is slow and paid for."""
    first, *others = _named_zones(config).items() or [("", "")]
    refuse(
        f"'{key}' is {zone!r}, but {first[0]} is {first[1]!r}; give all nodes and the file system one zone: EFA does "
        "not cross zones, and Lustre traffic between them is slow and costs money"
        for key, zone in others
        if zone != first[1]
    )


def reserved_capacity_names_its_zone(config: ClusterConfig) -> None:
    """A reservation is of one zone, and the first zone of the region is hardly ever it."""
    refuse(
        f"'node_groups.{name}.capacity_reservation_id' is {spec.capacity_reservation_id!r}, but availability_zones is "
        "empty; name two zones there, that of the reservation first"
        for name, spec in config.node_groups.items()
        if spec.capacity_reservation_id and not config.availability_zones
    )


def training_subnet_holds_the_nodes(config: ClusterConfig) -> None:
    """Nodes beyond the subnet's addresses are not started, and pods beyond them stay without network."""
    if not _is_network(config):
        return
    prefix = private_subnet_prefix(config.vpc_cidr, len(config.availability_zones) or _DEFAULT_ZONES)
    free = usable_addresses(prefix) - _EKS_ADDRESSES - MOST_SYSTEM_NODES * ADDRESSES_PER_NODE
    wanted = {
        name: spec.maximum * (ADDRESSES_PER_NODE - 1 + spec.ip_interfaces) for name, spec in config.node_groups.items()
    }
    if sum(wanted.values()) > free:
        groups = ", ".join(f"{name} at max_size {config.node_groups[name].maximum}: {wanted[name]}" for name in wanted)
        raise InputError(
            f"'vpc_cidr' is {config.vpc_cidr!r}, whose subnets (/{prefix}) have {free} addresses for GPU nodes and "
            f"their pods, but the node groups can take {sum(wanted.values())} ({groups}); give a larger range, fewer "
            "zones, or lower max_size"
        )


def _is_network(config: ClusterConfig) -> bool:
    """Whether range and zones are such that there is a subnet to be measured; if not, other rules say so."""
    try:
        vpc_cidr_is_one_of_a_vpc(config)
        availability_zones_are_two_or_none(config)
    except InputError:
        return False
    return True


def alarm_email_is_an_address(config: ClusterConfig) -> Problems:
    """SNS takes anything and delivers nothing."""
    if config.alarm_email is not None:
        yield from valid_email("alarm_email", config.alarm_email)


def budget_is_a_number(config: ClusterConfig) -> None:
    """AWS Budgets wants a positive amount."""
    if config.monthly_budget_usd is not None:
        check_at_least("monthly_budget_usd", config.monthly_budget_usd, 1)


def budget_has_a_reader(config: ClusterConfig) -> None:
    """A budget that nobody is told of limits nothing."""
    if config.monthly_budget_usd is not None and config.alarm_email is None:
        raise InputError("'alarm_email' is missing, and monthly_budget_usd needs it; add who is to be told")


def _named_zones(config: ClusterConfig) -> dict[str, str]:
    """Every zone that a section names, by its key."""
    groups = {f"node_groups.{name}.availability_zone": spec for name, spec in config.node_groups.items()}
    zones = {"lustre.availability_zone": config.lustre.availability_zone}
    zones |= {key: spec.availability_zone for key, spec in groups.items()}
    return {key: zone for key, zone in zones.items() if zone is not None}


RULES = (
    there_is_a_node_group,
    node_group_names_are_ids,
    kubernetes_version_is_known,
    ami_releases_are_of_the_kubernetes_version,
    vpc_cidr_is_one_of_a_vpc,
    availability_zones_are_two_or_none,
    public_access_is_limited,
    administrators_are_roles_or_users,
    gang_scheduler_is_a_name,
    mirror_is_a_registry,
    without_nat_there_is_a_mirror,
    service_accounts_are_names,
    named_zones_are_zones_of_the_network,
    nodes_and_file_system_share_a_zone,
    reserved_capacity_names_its_zone,
    training_subnet_holds_the_nodes,
    alarm_email_is_an_address,
    budget_is_a_number,
    budget_has_a_reader,
)
