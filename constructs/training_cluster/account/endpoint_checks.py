"""Checks of the endpoints of AWS's services in the VPC of `existing_vpc`.

With private DNS an endpoint takes the requests of every node, also where there is a NAT gateway: nodes do not join
where its security groups do not admit them.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, collapse_addresses
from typing import Any

from training_cluster.account.check_result import FAILED, OK, CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.existing_checks import default_route, route_table, route_tables
from training_cluster.network.endpoints import service_names

__all__ = ["existing_vpc_endpoints_admit_the_nodes"]

_HTTPS = 443
_EFS = "elasticfilesystem"
_ROW = "endpoints of the existing VPC"


def existing_vpc_endpoints_admit_the_nodes(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the endpoints with the services that nodes call; without a default route each service needs one."""
    existing, config = deployment.config.existing_vpc, deployment.config
    if existing is None:
        return
    services = service_names(ssm=any(group.ssm for group in config.node_groups.values()))
    # Only its driver calls it.
    services = [each for each in services if each != _EFS or config.efs or config.existing_efs]
    only = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    endpoints = [
        each
        for each in deployment.account.all("ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=only)
        if each["State"].lower() == "available"
    ]
    # The service's own name leads to it, for all that the VPC's resolver answers.
    private = [each for each in endpoints if each["VpcEndpointType"] == "Interface" and each.get("PrivateDnsEnabled")]
    by_service = {name: [each for each in private if _is_of(each, name, deployment)] for name in services}
    yield from _that_do_not_admit(deployment, by_service)
    yield _that_are_there(deployment, by_service, endpoints)


def _is_of(endpoint: dict[str, Any], service: str, deployment: Deployment) -> bool:
    # com.amazonaws.<region>.ecr.api, in China also cn.com.amazonaws.<region>.ecr.api.
    return str(endpoint["ServiceName"]).endswith(f".{deployment.account.region}.{service}")


def _that_do_not_admit(deployment: Deployment, endpoints: dict[str, list[dict[str, Any]]]) -> Iterator[CheckResult]:
    """Find the endpoints whose security groups do not admit a subnet."""
    existing = deployment.config.existing_vpc
    assert existing
    pairs = [(name, each) for name, found in endpoints.items() for each in found]
    ids = {id for _, each in pairs for id in _groups(each)}
    if not ids:
        return
    only = [{"Name": "group-id", "Values": sorted(ids)}]
    found = deployment.account.all("ec2", "describe_security_groups", "SecurityGroups", Filters=only)
    rules = {each["GroupId"]: each["IpPermissions"] for each in found}
    subnets = {each["SubnetId"]: each["CidrBlock"] for each in deployment.subnets(existing.private_subnet_ids)}
    nodes = _group_of_the_nodes(deployment)
    for service, endpoint in pairs:
        permissions = [rule for id in _groups(endpoint) for rule in rules.get(id, ())]
        closed = {id: cidr for id, cidr in subnets.items() if not _admits(permissions, cidr, nodes)}
        if closed:
            yield _closed(service, endpoint, closed)


def _groups(endpoint: dict[str, Any]) -> list[str]:
    return [group["GroupId"] for group in endpoint.get("Groups", ())]


def _closed(service: str, endpoint: dict[str, Any], subnets: dict[str, str]) -> CheckResult:
    """Return the row of an endpoint that does not admit some subnets, by id and address range."""
    groups = _groups(endpoint)
    admit = f"aws ec2 authorize-security-group-ingress --group-id {groups[0]} --protocol tcp --port {_HTTPS} --cidr"
    return CheckResult(
        check=f"endpoint of {service}",
        state=FAILED,
        actual=f"{endpoint['VpcEndpointId']} with private DNS, whose {', '.join(groups)} admits no HTTPS from "
        f"{', '.join(subnets)}",
        needed="port 443 from the private subnets: every node calls the service through it",
        remedy="; ".join(f"{admit} {cidr}" for cidr in subnets.values()),
    )


def _group_of_the_nodes(deployment: Deployment) -> str | None:
    """Return EKS's security group of the deployed cluster, which its nodes have; None before the deployment."""
    name = deployment.cluster.cluster_name if deployment.cluster else None
    if name is None:
        return None
    cluster = deployment.account.ask("eks", "describe_cluster", name=name)["cluster"]
    return str(cluster["resourcesVpcConfig"]["clusterSecurityGroupId"])


def _is_https(rule: dict[str, Any]) -> bool:
    protocol = rule["IpProtocol"]
    # All protocols have no ports.
    return protocol == "-1" or (protocol in ("tcp", "6") and rule["FromPort"] <= _HTTPS <= rule["ToPort"])


def _admits(permissions: Iterable[dict[str, Any]], cidr: str, nodes: str | None) -> bool:
    """Return whether rules admit HTTPS from an address range; the addresses of a prefix list are not known."""
    rules = [each for each in permissions if _is_https(each)]
    sources = collapse_addresses(IPv4Network(each["CidrIp"]) for rule in rules for each in rule.get("IpRanges", ()))
    groups = {each.get("GroupId") for rule in rules for each in rule.get("UserIdGroupPairs", ())}
    in_range = any(IPv4Network(cidr).subnet_of(source) for source in sources)
    return in_range or nodes in groups - {None} or any(rule.get("PrefixListIds") for rule in rules)


def _that_are_there(
    deployment: Deployment, by_service: dict[str, list[dict[str, Any]]], endpoints: list[dict[str, Any]]
) -> CheckResult:
    """Name the services without an endpoint, which is wrong where a subnet has no other way to them."""
    existing = deployment.config.existing_vpc
    assert existing
    tables = route_tables(deployment)
    alone = [id for id in existing.private_subnet_ids if default_route(tables, id) is None]
    there = ", ".join(name for name, found in by_service.items() if found) or "none"
    if not alone:
        return CheckResult(check=_ROW, state=OK, actual=f"{there}; the other services by the default route")
    gateways = [each for each in endpoints if each["VpcEndpointType"] == "Gateway" and _is_of(each, "s3", deployment)]
    lacks = [name for name, found in by_service.items() if not found] + _without_a_gateway(alone, tables, gateways)
    without = f"no default route of {', '.join(alone)}, and no endpoint with private DNS of {', '.join(lacks)}"
    return decided(
        _ROW,
        not lacks,
        actual=without if lacks else there,
        needed="one of each service that nodes call, or a default route",
        remedy=f"aws ec2 create-vpc-endpoint --vpc-id {existing.vpc_id} --vpc-endpoint-type Interface "
        "--private-dns-enabled --service-name com.amazonaws.<region>.<service> for each, of s3 with "
        "--vpc-endpoint-type Gateway --route-table-ids; or a default route to a NAT gateway",
    )


def _without_a_gateway(subnets: list[str], tables: list[dict[str, Any]], gateways: list[dict[str, Any]]) -> list[str]:
    """Name the subnets whose route table has no gateway endpoint of S3, which holds the layers of ECR's images."""
    routed = {id for each in gateways for id in each.get("RouteTableIds", ())}
    closed = (id for id in subnets if route_table(tables, id).get("RouteTableId") not in routed)
    return [f"s3 (a gateway endpoint for {id})" for id in closed]
