from typing import Any

import pytest

from tests.constructs.rules import Rule, rules_of
from training_cluster import ClusterConfig, GpuNodeGroupSpec, LustreSpec, ServiceAccountSpec
from training_cluster.config import cluster_config, rules
from training_workloads import InputError

ZONES = ("us-east-1a", "us-east-1b")


def group(**fields: Any) -> dict[str, GpuNodeGroupSpec]:
    return {"gpu": GpuNodeGroupSpec(**{"instance_type": "p4d.24xlarge", **fields})}


BROKEN: list[tuple[Rule, dict[str, Any], str]] = [
    (
        rules.there_is_a_node_group,
        {"node_groups": {}},
        "'node_groups' is empty; add one, such as gpu: {instance_type: …, min_size: 0}",
    ),
    (
        rules.node_group_names_are_ids,
        {"node_groups": {"8 gpus": GpuNodeGroupSpec(instance_type="p3.2xlarge")}},
        "'node_groups' has the name '8 gpus'; use letters, digits and '-', a letter first",
    ),
    (
        rules.kubernetes_version_is_known,
        {"kubernetes_version": "1.29"},
        "'kubernetes_version' is '1.29'; give one of 1.34, 1.35",
    ),
    (
        rules.ami_releases_are_of_the_kubernetes_version,
        {"node_groups": group(ami_release="1.34.2-20260917")},
        "'node_groups.gpu.ami_release' is '1.34.2-20260917', but kubernetes_version is '1.35'; give a release of 1.35, "
        "or change the version",
    ),
    (rules.vpc_cidr_is_one_of_a_vpc, {"vpc_cidr": "10.0.0.0/8"}, "'vpc_cidr' is '10.0.0.0/8'; give a range from /16"),
    (
        rules.availability_zones_are_two_or_none,
        {"availability_zones": ("us-east-1a",)},
        "'availability_zones' is ('us-east-1a',); give two or more",
    ),
    (
        rules.public_access_is_limited,
        {"public_access_cidrs": ("0.0.0.0/0",)},
        "'public_access_cidrs' is ['0.0.0.0/0'], which is the whole internet; give the addresses from which people "
        "come, such as 203.0.113.7/32, or set allow_any_address to true",
    ),
    (
        rules.administrators_are_roles_or_users,
        {"admin_arns": ("me",)},
        "'admin_arns' has 'me'; give ARNs of IAM roles or users",
    ),
    (
        rules.gang_scheduler_is_a_name,
        {"gang_scheduler": "My Scheduler"},
        "'gang_scheduler' is 'My Scheduler'; give lower-case letters, digits and '-', at most 63",
    ),
    (
        rules.mirror_is_a_registry,
        {"mirror": "docker.io/mine"},
        "'mirror' is 'docker.io/mine'; give the address of an ECR registry with or without a prefix, such as "
        "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror",
    ),
    (
        rules.without_nat_there_is_a_mirror,
        {"nat": False},
        "'mirror' is missing, and nat: false needs it; 'training-workloads mirror-commands <ECR registry>' prints how "
        "to copy charts and images there",
    ),
    (
        rules.service_accounts_are_names,
        {"service_accounts": {"My_Account": ServiceAccountSpec(prefix="runs")}},
        "'service_accounts' has the name 'My_Account'; use lower-case letters, digits and '-', at most 63",
    ),
    (
        rules.named_zones_are_zones_of_the_network,
        {"lustre": LustreSpec(availability_zone="us-east-1c"), "availability_zones": ZONES},
        "'lustre.availability_zone' is 'us-east-1c', but availability_zones is us-east-1a, us-east-1b; add the zone "
        "there, or leave lustre.availability_zone out",
    ),
    (
        rules.nodes_and_file_system_share_a_zone,
        {
            "lustre": LustreSpec(availability_zone="us-east-1a"),
            "node_groups": group(availability_zone="us-east-1b"),
            "availability_zones": ZONES,
        },
        "'node_groups.gpu.availability_zone' is 'us-east-1b', but lustre.availability_zone is 'us-east-1a'; give all "
        "nodes and the file system one zone: EFA does not cross zones, and Lustre traffic between them is slow and "
        "costs money",
    ),
    (
        rules.reserved_capacity_names_its_zone,
        {"node_groups": group(capacity_reservation_id="cr-0123456789abcdef0")},
        "'node_groups.gpu.capacity_reservation_id' is 'cr-0123456789abcdef0', but availability_zones is empty; name "
        "two zones there, that of the reservation first",
    ),
    (
        rules.training_subnet_holds_the_nodes,
        {"node_groups": group(max_size=100), "vpc_cidr": "10.0.0.0/20"},
        "'vpc_cidr' is '10.0.0.0/20', whose subnets (/22) have 940 addresses for GPU nodes and their pods, but the "
        "node groups can take 2100 (gpu at max_size 100: 2100); give a larger range, fewer zones, or lower max_size",
    ),
    (
        rules.alarm_email_is_an_address,
        {"alarm_email": "the team"},
        "'alarm_email' is 'the team'; give one email address, such as team@example.com",
    ),
    (
        rules.budget_is_a_number,
        {"monthly_budget_usd": 0, "alarm_email": "team@example.com"},
        "'monthly_budget_usd' is 0; give 1 or more",
    ),
    (
        rules.budget_has_a_reader,
        {"monthly_budget_usd": 1000},
        "'alarm_email' is missing, and monthly_budget_usd needs it; add who is to be told",
    ),
]


@pytest.mark.parametrize(("rule", "fields", "message"), BROKEN)
def test_a_broken_rule(rule: Rule, fields: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"node_groups": group(), **fields}
    with pytest.raises(InputError) as caught:
        ClusterConfig(**fields)
    assert message in str(caught.value)
    # The message is that rule's own, not another's that happens to be alike.
    monkeypatch.setattr(cluster_config, "RULES", (rule,))
    with pytest.raises(InputError) as caught:
        ClusterConfig(**fields)
    assert str(caught.value).startswith(message)


def test_every_rule_is_applied_and_tested() -> None:
    assert rules_of(rules) == set(rules.RULES) == {rule for rule, _, _ in BROKEN}


def test_efa_only_interfaces_take_no_addresses() -> None:
    """32 EFA interfaces of a p5 would fill a /22 with 18 nodes; without addresses 44 fit."""
    ClusterConfig(node_groups=group(instance_type="p5.48xlarge", max_size=44), vpc_cidr="10.0.0.0/20")
    with pytest.raises(InputError, match="the node groups can take 945"):
        ClusterConfig(node_groups=group(instance_type="p5.48xlarge", max_size=45), vpc_cidr="10.0.0.0/20")


def test_the_training_zone_is_the_one_that_a_section_names_else_the_first() -> None:
    def zone(**fields: Any) -> str | None:
        return ClusterConfig(**{"node_groups": group(), **fields}).training_zone

    assert zone() is None
    assert zone(availability_zones=ZONES) == "us-east-1a"
    assert zone(availability_zones=ZONES, node_groups=group(availability_zone="us-east-1b")) == "us-east-1b"
    assert zone(availability_zones=ZONES, lustre=LustreSpec(availability_zone="us-east-1b")) == "us-east-1b"
