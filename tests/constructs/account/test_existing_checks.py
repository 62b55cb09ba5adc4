from typing import Any

import pytest

from tests.constructs.account.stubbed_account import (
    EXISTING_EFS,
    EXISTING_LUSTRE,
    EXISTING_VPC,
    StubbedAccount,
    deployment,
)
from training_cluster.account.check_result import CheckResult
from training_cluster.account.existing_checks import (
    existing_efs_can_be_mounted,
    existing_lustre_can_be_mounted,
    existing_subnets_have_a_way_out,
    existing_vpc_has_dns,
    existing_vpc_has_the_subnets,
)
from training_cluster.account.preflight import Check, run_checks

VPC, (FIRST, SECOND) = EXISTING_VPC["vpc_id"], EXISTING_VPC["private_subnet_ids"]
ALL = {"existing_vpc": EXISTING_VPC, "existing_lustre": EXISTING_LUSTRE, "existing_efs": EXISTING_EFS}
OTHER_VPC = "vpc-0fedcba9876543210"
GROUP = "sg-0123456789abcdef0"


def subnet(id: str, zone: str, **changes: Any) -> dict[str, Any]:
    found = {"SubnetId": id, "VpcId": VPC, "AvailabilityZone": f"us-west-2{zone}", "State": "available"}
    return {**found, "MapPublicIpOnLaunch": False, **changes}


def answer_vpcs(account: StubbedAccount, *states: str) -> None:
    expected = {"Filters": [{"Name": "vpc-id", "Values": [VPC]}]}
    account.answer("ec2", "describe_vpcs", {"Vpcs": [{"State": state} for state in states]}, expected)


def found(check: Check, account: StubbedAccount, **values: Any) -> list[CheckResult]:
    return list(check(deployment(account, **ALL | values)))


@pytest.mark.parametrize(
    "check",
    [
        existing_vpc_has_the_subnets,
        existing_vpc_has_dns,
        existing_subnets_have_a_way_out,
        existing_lustre_can_be_mounted,
        existing_efs_can_be_mounted,
    ],
)
def test_without_the_key_there_is_nothing_to_look_up(check: Check) -> None:
    assert list(check(deployment(StubbedAccount()))) == []


def test_a_vpc_with_its_subnets_in_their_zones_is_right() -> None:
    account = StubbedAccount()
    answer_vpcs(account, "available")
    account.answer_subnets(subnet(FIRST, "a"), subnet(SECOND, "b"))
    rows = found(existing_vpc_has_the_subnets, account)
    assert [(each.check, each.state) for each in rows] == [
        ("existing VPC", "ok"),
        (f"subnet {FIRST}", "ok"),
        (f"subnet {SECOND}", "ok"),
    ]
    assert rows[1].needed == f"VpcId {VPC}, AvailabilityZone us-west-2a, State available, MapPublicIpOnLaunch False"


def test_a_vpc_of_another_region_is_named() -> None:
    account = StubbedAccount()
    answer_vpcs(account)
    account.answer_subnets()
    vpc, *subnets = found(existing_vpc_has_the_subnets, account)
    assert (vpc.state, vpc.actual) == ("failed", f"us-west-2 of this account has no {VPC}")
    assert "correct existing_vpc.vpc_id, or set AWS_REGION" in vpc.remedy
    assert [each.actual for each in subnets] == [f"us-west-2 of this account has no {id}" for id in (FIRST, SECOND)]


@pytest.mark.parametrize(
    "wrong",
    [{"VpcId": "vpc-1"}, {"AvailabilityZone": "us-west-2c"}, {"State": "pending"}, {"MapPublicIpOnLaunch": True}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_subnet_that_differs_is_named(wrong: dict[str, Any]) -> None:
    account = StubbedAccount()
    answer_vpcs(account, "available")
    account.answer_subnets(subnet(FIRST, "a"), subnet(SECOND, "b", **wrong))
    _, first, second = found(existing_vpc_has_the_subnets, account)
    assert (first.state, second.state) == ("ok", "failed")
    assert second.remedy == (
        "name a private subnet of us-west-2b in existing_vpc.private_subnet_ids, in the order of availability_zones"
    )


@pytest.mark.parametrize("lifecycle", ["AVAILABLE", "UPDATING"])
def test_a_lustre_as_described_is_right(lifecycle: str) -> None:
    account = StubbedAccount()
    account.answer_existing_lustre(Lifecycle=lifecycle)
    account.answer_subnets(subnet(FIRST, "a"))
    (row,) = found(existing_lustre_can_be_mounted, account)
    assert (row.check, row.state) == ("existing Lustre", "ok")


@pytest.mark.parametrize(
    ("wrong", "zone", "shown"),
    [
        ({"FileSystemType": "WINDOWS"}, "a", "type WINDOWS"),
        ({"Lifecycle": "DELETING"}, "a", "state DELETING"),
        ({"VpcId": OTHER_VPC}, "a", f"VPC {OTHER_VPC}"),
        ({}, "b", "zone us-west-2b"),
        ({"LustreConfiguration": {"MountName": "other"}}, "a", "mount_name other"),
        ({"StorageCapacity": 1200}, "a", "capacity_gib 1200"),
    ],
)
def test_a_lustre_that_differs_is_named(wrong: dict[str, Any], zone: str, shown: str) -> None:
    account = StubbedAccount()
    account.answer_existing_lustre(**wrong)
    account.answer_subnets(subnet(FIRST, zone))
    (row,) = found(existing_lustre_can_be_mounted, account)
    assert (row.state, shown in row.actual) == ("failed", True)
    assert row.remedy.startswith("'aws fsx describe-file-systems' shows those of the region: correct existing_lustre")


def test_a_lustre_of_another_region_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("fsx", "describe_file_systems", "FileSystemNotFound")
    (row,) = found(existing_lustre_can_be_mounted, account)
    assert (row.state, row.actual) == ("failed", "us-west-2 of this account has no fs-0123456789abcdef0")


@pytest.mark.parametrize(
    ("groups", "state"), [([{"VpcId": VPC}], "ok"), ([{"VpcId": "vpc-1"}], "failed"), ([], "failed")]
)
def test_its_security_group_is_in_the_vpc(groups: list[dict[str, str]], state: str) -> None:
    account = StubbedAccount()
    account.answer_existing_lustre()
    account.answer_subnets(subnet(FIRST, "a"))
    expected = {"Filters": [{"Name": "group-id", "Values": [GROUP]}]}
    account.answer("ec2", "describe_security_groups", {"SecurityGroups": groups}, expected)
    lustre = {**EXISTING_LUSTRE, "security_group_id": GROUP}
    _, row = found(existing_lustre_can_be_mounted, account, existing_lustre=lustre)
    assert (row.check, row.state) == ("security group of existing_lustre", state)


def answer_efs(account: StubbedAccount, *zones: str, state: str = "available", point: str = "", vpc: str = VPC) -> None:
    of = {"FileSystemId": EXISTING_EFS["file_system_id"]}
    common = {"OwnerId": "1", "CreationToken": "1", "CreationTime": 0, "NumberOfMountTargets": 2, "Tags": []}
    system = {**common, **of, "PerformanceMode": "generalPurpose", "SizeInBytes": {"Value": 0}, "LifeCycleState": state}
    account.answer("efs", "describe_file_systems", {"FileSystems": [system]}, of)
    targets = [
        {
            **of,
            "MountTargetId": "fsmt-0123456789abcdef0",
            "SubnetId": FIRST,
            "LifeCycleState": "available",
            "VpcId": vpc,
            "AvailabilityZoneName": f"us-west-2{zone}",
        }
        for zone in zones
    ]
    account.answer("efs", "describe_mount_targets", {"MountTargets": targets}, of)
    points = [{"FileSystemId": point or of["FileSystemId"], "LifeCycleState": "available"}]
    expected = {"AccessPointId": EXISTING_EFS["access_point_id"]}
    account.answer("efs", "describe_access_points", {"AccessPoints": points}, expected)


@pytest.mark.parametrize("state", ["available", "updating"])
def test_an_efs_with_a_mount_target_in_each_zone_is_right(state: str) -> None:
    account = StubbedAccount()
    answer_efs(account, "b", "a", state=state)
    (row,) = found(existing_efs_can_be_mounted, account)
    assert (row.check, row.state) == ("existing EFS", "ok")
    assert row.actual.endswith("mount targets in us-west-2a, us-west-2b")


@pytest.mark.parametrize(
    ("zones", "changes", "shown"),
    [
        ("a", {}, "mount targets in us-west-2a"),
        ("ab", {"vpc": OTHER_VPC}, "mount targets in none"),
        ("ab", {"state": "deleting"}, "state deleting"),
        ("ab", {"point": "fs-0000000000000000f"}, "of fs-0000000000000000f"),
    ],
)
def test_an_efs_that_differs_is_named(zones: str, changes: dict[str, str], shown: str) -> None:
    account = StubbedAccount()
    answer_efs(account, *zones, **changes)
    (row,) = found(existing_efs_can_be_mounted, account)
    assert (row.state, shown in row.actual) == ("failed", True)


def test_an_efs_of_another_region_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("efs", "describe_file_systems", "FileSystemNotFound")
    (row,) = found(existing_efs_can_be_mounted, account)
    assert row.actual == "us-west-2 of this account has no fs-0fedcba9876543210 with fsap-0123456789abcdef0"


def test_what_one_lookup_may_not_read_leaves_the_rows_before_it() -> None:
    account = StubbedAccount()
    account.answer_identity()
    answer_vpcs(account, "available")
    account.forbid("ec2", "describe_subnets")
    _, vpc, subnets = run_checks(deployment(account, **ALL), (existing_vpc_has_the_subnets,))
    assert (vpc.state, subnets.state, subnets.remedy) == ("ok", "skipped", "allow the action ec2:DescribeSubnets")


VPC, (FIRST, SECOND) = EXISTING_VPC["vpc_id"], EXISTING_VPC["private_subnet_ids"]
MIRROR = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"


def answer_dns(account: StubbedAccount, *, support: bool, hostnames: bool) -> None:
    for name, value in (("DnsSupport", support), ("DnsHostnames", hostnames)):
        expected = {"VpcId": VPC, "Attribute": f"enable{name}"}
        account.answer("ec2", "describe_vpc_attribute", {f"Enable{name}": {"Value": value}}, expected)


@pytest.mark.parametrize(
    ("support", "hostnames", "actual", "remedy"),
    [
        (True, True, "both are on", ""),
        (
            True,
            False,
            "without enableDnsHostnames",
            f"""aws ec2 modify-vpc-attribute --vpc-id {VPC} --enable-dns-hostnames '{{"Value":true}}'""",
        ),
        (
            False,
            True,
            "without enableDnsSupport",
            f"""aws ec2 modify-vpc-attribute --vpc-id {VPC} --enable-dns-support '{{"Value":true}}'""",
        ),
    ],
)
def test_eks_requires_both_attributes_of_dns(support: bool, hostnames: bool, actual: str, remedy: str) -> None:
    account = StubbedAccount()
    answer_dns(account, support=support, hostnames=hostnames)
    (found,) = existing_vpc_has_dns(deployment(account, existing_vpc=EXISTING_VPC))
    assert (found.check, found.state) == ("DNS of the existing VPC", "failed" if remedy else "ok")
    assert (found.actual, found.remedy) == (actual, remedy)
    account.all_asked()


def test_an_attribute_that_may_not_be_read_skips_the_check() -> None:
    account = StubbedAccount()
    account.answer_identity()
    account.answer(
        "ec2",
        "describe_vpc_attribute",
        {"EnableDnsSupport": {"Value": True}},
        {"VpcId": VPC, "Attribute": "enableDnsSupport"},
    )
    account.forbid("ec2", "describe_vpc_attribute")
    _, found = run_checks(deployment(account, existing_vpc=EXISTING_VPC), (existing_vpc_has_dns,))
    assert (found.state, found.remedy) == ("skipped", "allow the action ec2:DescribeVpcAttribute")


def route(**target: str) -> dict[str, str]:
    return {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", **target}


LOCAL = {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"}
NAT = route(NatGatewayId="nat-0123456789abcdef0")


def ways_out(first: list[dict[str, str]], main: list[dict[str, str]], **values: Any) -> list[CheckResult]:
    """Return the rows with a route table of the first subnet, and one of the VPC."""
    account = StubbedAccount()
    tables = [
        {"Associations": [{"Main": True}], "Routes": [LOCAL, *main]},
        {"Associations": [{"Main": False, "SubnetId": FIRST}], "Routes": [LOCAL, *first]},
    ]
    expected = {"Filters": [{"Name": "vpc-id", "Values": [VPC]}]}
    account.answer("ec2", "describe_route_tables", {"RouteTables": tables}, expected)
    return list(existing_subnets_have_a_way_out(deployment(account, existing_vpc=EXISTING_VPC, **values)))


def test_a_subnet_has_its_own_route_table_or_that_of_the_vpc() -> None:
    first, second = ways_out([NAT], [route(GatewayId="igw-0123456789abcdef0")])
    assert (first.check, first.state) == (f"way out of {FIRST}", "ok")
    assert first.actual == "0.0.0.0/0 to nat-0123456789abcdef0"
    assert (second.check, second.state) == (f"way out of {SECOND}", "failed")
    assert second.actual == "0.0.0.0/0 to igw-0123456789abcdef0"
    assert second.remedy.startswith("route 0.0.0.0/0 to a NAT gateway; or remove the route, set mirror, and add a ")


@pytest.mark.parametrize("target", ["TransitGatewayId", "NetworkInterfaceId", "GatewayId"])
def test_a_route_to_another_network_may_lead_on(target: str) -> None:
    first, _ = ways_out([route(**{target: "other-0123456789abcdef0"})], [NAT])
    assert (first.state, first.actual) == ("ok", "0.0.0.0/0 to other-0123456789abcdef0")


def test_a_route_to_what_was_deleted_leads_nowhere() -> None:
    first, second = ways_out([NAT | {"State": "blackhole"}], [NAT], mirror=MIRROR)
    assert (first.state, second.state) == ("failed", "ok")
    assert first.actual == "0.0.0.0/0 to nat-0123456789abcdef0, a blackhole"


@pytest.mark.parametrize(("mirror", "state"), [(MIRROR, "ok"), (None, "failed")])
def test_without_a_route_endpoints_and_a_mirror_are_needed(mirror: str | None, state: str) -> None:
    first, second = ways_out([], [NAT], mirror=mirror)
    assert (first.state, second.state) == (state, "ok")
    assert first.actual == "no default route"
