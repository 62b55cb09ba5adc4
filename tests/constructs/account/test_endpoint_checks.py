"""The endpoints of a VPC that exists, as EC2 describes them."""

from typing import Any

import pytest

from tests.constructs.account.stubbed_account import EXISTING_EFS, EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account.check_result import CheckResult
from training_cluster.account.endpoint_checks import existing_vpc_endpoints_admit_the_nodes

VPC, (FIRST, SECOND) = EXISTING_VPC["vpc_id"], EXISTING_VPC["private_subnet_ids"]
CIDRS = {FIRST: "10.0.0.0/20", SECOND: "10.0.16.0/20"}
MIRROR = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
GROUP, OTHER = "sg-0123456789abcdef0", "sg-0123456789abcdef1"
SERVICES = "ec2 ecr.api ecr.dkr eks eks-auth autoscaling sts logs monitoring lambda".split()
NAT = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-0123456789abcdef0"}
S3 = {
    "VpcEndpointId": "vpce-s3",
    "VpcEndpointType": "Gateway",
    "ServiceName": "com.amazonaws.us-west-2.s3",
    "State": "available",
    "RouteTableIds": ["rtb-1"],
}


def endpoint(service: str, **changes: Any) -> dict[str, Any]:
    return {
        "VpcEndpointId": f"vpce-{service}",
        "VpcEndpointType": "Interface",
        "ServiceName": f"com.amazonaws.us-west-2.{service}",
        "State": "available",
        "PrivateDnsEnabled": True,
        "Groups": [{"GroupId": GROUP}],
        **changes,
    }


def https(*cidrs: str, group: str | None = None, **changes: Any) -> dict[str, Any]:
    sources = {"IpRanges": [{"CidrIp": each} for each in cidrs]}
    groups = {"UserIdGroupPairs": [{"GroupId": group}]} if group else {}
    return {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, **sources, **groups, **changes}


def rows(
    endpoints: list[dict[str, Any]],
    *rules: dict[str, Any],
    route: dict[str, str] | None = NAT,
    cluster: bool = False,
    **values: Any,
) -> list[CheckResult]:
    """Return the rows of a VPC with one route table, whose endpoints have one security group with some rules."""
    account = StubbedAccount()
    only = {"Filters": [{"Name": "vpc-id", "Values": [VPC]}]}
    account.answer("ec2", "describe_vpc_endpoints", {"VpcEndpoints": endpoints}, only)
    if any("Groups" in each for each in endpoints):
        groups = [{"GroupId": GROUP, "IpPermissions": list(rules)}]
        account.answer("ec2", "describe_security_groups", {"SecurityGroups": groups})
        account.answer_subnets(*({"SubnetId": id, "CidrBlock": cidr} for id, cidr in CIDRS.items()))
        if cluster:
            account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training")})
            found = {"cluster": {"resourcesVpcConfig": {"clusterSecurityGroupId": OTHER}}}
            account.answer("eks", "describe_cluster", found, {"name": "training"})
        else:
            account.answer_no_stack()
    table = {"RouteTableId": "rtb-1", "Associations": [{"Main": True}], "Routes": [route] if route else []}
    account.answer("ec2", "describe_route_tables", {"RouteTables": [table]}, only)
    values.setdefault("mirror", None if route else MIRROR)
    return list(existing_vpc_endpoints_admit_the_nodes(deployment(account, existing_vpc=EXISTING_VPC, **values)))


def test_without_the_key_there_is_nothing_to_look_up() -> None:
    assert list(existing_vpc_endpoints_admit_the_nodes(deployment(StubbedAccount()))) == []


def test_a_group_that_admits_another_group_only_keeps_the_nodes_out() -> None:
    closed, there = rows([endpoint("ec2")], https(group=OTHER))
    assert closed == CheckResult(
        check="endpoint of ec2",
        state="failed",
        actual=f"vpce-ec2 with private DNS, whose {GROUP} admits no HTTPS from {FIRST}, {SECOND}",
        needed="port 443 from the private subnets: every node calls the service through it",
        remedy=f"aws ec2 authorize-security-group-ingress --group-id {GROUP} --protocol tcp --port 443 --cidr "
        f"10.0.0.0/20; aws ec2 authorize-security-group-ingress --group-id {GROUP} --protocol tcp --port 443 --cidr "
        "10.0.16.0/20",
    )
    assert (there.state, there.actual) == ("ok", "ec2; the other services by the default route")


@pytest.mark.parametrize(
    ("rule", "closed"),
    [
        (https("10.0.0.0/16"), 0),
        (https("10.0.0.0/20", "10.0.16.0/20"), 0),
        # Two halves of a subnet, and the other subnet.
        (https("10.0.0.0/21", "10.0.8.0/21", "10.0.16.0/20"), 0),
        (https("10.0.0.0/20"), 1),
        (https("10.0.0.0/16", FromPort=80, ToPort=80), 1),
        (https("10.0.0.0/16", FromPort=0, ToPort=65535), 0),
        (https("10.0.0.0/16", IpProtocol="udp"), 1),
        ({"IpProtocol": "-1", "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}, 0),
        (https(PrefixListIds=[{"PrefixListId": "pl-1"}]), 0),
    ],
)
def test_rules_are_read_as_ec2_does(rule: dict[str, Any], closed: int) -> None:
    assert len(rows([endpoint("ecr.api")], rule)) == closed + 1


def test_the_group_of_the_deployed_cluster_is_that_of_its_nodes() -> None:
    assert [each.state for each in rows([endpoint("sts")], https(group=OTHER), cluster=True)] == ["ok"]


@pytest.mark.parametrize(
    "changes",
    [
        {"PrivateDnsEnabled": False},
        {"State": "deleting"},
        {"ServiceName": "com.amazonaws.us-west-2.ssm"},
        {"ServiceName": "com.amazonaws.vpce.us-west-2.vpce-svc-0123456789abcdef0"},
    ],
)
def test_an_endpoint_that_no_node_calls_may_be_closed(changes: dict[str, Any]) -> None:
    (there,) = rows([{key: value for key, value in endpoint("ec2", **changes).items() if key != "Groups"}])
    assert (there.state, there.actual) == ("ok", "none; the other services by the default route")


def test_without_a_default_route_every_service_needs_one() -> None:
    everything = [S3, *(endpoint(name) for name in SERVICES)]
    (there,) = rows(everything, https("10.0.0.0/16"), route=None)
    assert (there.state, there.actual) == ("ok", ", ".join(SERVICES))
    (lacking,) = rows(everything[2:], https("10.0.0.0/16"), route=None)
    assert lacking.state == "failed"
    assert lacking.actual == (
        f"no default route of {FIRST}, {SECOND}, and no endpoint with private DNS of ec2, "
        f"s3 (a gateway endpoint for {FIRST}), s3 (a gateway endpoint for {SECOND})"
    )
    assert lacking.remedy.startswith(f"aws ec2 create-vpc-endpoint --vpc-id {VPC} --vpc-endpoint-type Interface")


def test_efs_and_session_manager_need_theirs_where_they_are_used() -> None:
    everything = [S3, *(endpoint(name) for name in SERVICES)]
    (lacking,) = rows(everything, https("10.0.0.0/16"), route=None, existing_efs=EXISTING_EFS, ssm=True)
    assert lacking.actual.endswith("of elasticfilesystem, ssm, ssmmessages")
