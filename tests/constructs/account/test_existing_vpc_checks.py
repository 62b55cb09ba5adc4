from typing import Any

import pytest

from tests.constructs.account.stubbed_account import EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.existing_vpc_checks import existing_subnets_have_a_way_out, existing_vpc_has_dns
from training_cluster.account.preflight import Check, run_checks

VPC, (FIRST, SECOND) = EXISTING_VPC["vpc_id"], EXISTING_VPC["private_subnet_ids"]
MIRROR = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"


@pytest.mark.parametrize("check", [existing_vpc_has_dns, existing_subnets_have_a_way_out])
def test_without_the_key_there_is_nothing_to_look_up(check: Check) -> None:
    assert list(check(deployment(StubbedAccount()))) == []


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
    assert first.actual.startswith(
        "no default route: it needs a gateway endpoint of S3, and interface endpoints of ec2, ecr.api, ecr.dkr, eks, "
    )
    assert "ssmmessages" not in first.actual


def test_session_manager_needs_endpoints_too() -> None:
    first, _ = ways_out([], [NAT], mirror=MIRROR, ssm=True)
    assert first.actual.endswith("ssm, ssmmessages")
