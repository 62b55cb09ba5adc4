"""Resources in the VPC of a cluster's stack that are not the stack's: the VPC cannot be deleted before them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM, DeployedStack
from training_cluster.nodes.node_parts import CLUSTER_TAG
from training_workloads.aws.errors import RequestError

__all__ = ["Fate", "Leftover", "find_leftovers", "remove"]

#: What becomes of a resource: `later` while its owner exists, `removed` by this library, `awaited` where AWS removes
#: it, `named` where it is of someone else.
Fate = Literal["later", "removed", "awaited", "named"]

_VPC = "AWS::EC2::VPC"
_ENDPOINT = "AWS::EC2::VPCEndpoint"
_GROUP = "AWS::EC2::SecurityGroup"
_FUNCTION = "AWS::Lambda::Function"

# EKS, which alone may use the prefix `aws:`, tags its security group so; the others are those of the CNI
# (https://github.com/aws/amazon-vpc-cni-k8s/pull/2854), of Kubernetes' load balancers and of this library's nodes.
_OWNER_TAGS = ("aws:eks:cluster-name", "cluster.k8s.amazonaws.com/name", "elbv2.k8s.aws/cluster", CLUSTER_TAG)
_STACK_TAG = "aws:cloudformation:stack-name"

# Texts by which services describe their interfaces:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/requester-managed-eni.html
_OF_ENDPOINT = "VPC Endpoint Interface "
_OF_FUNCTION = re.compile(r"AWS Lambda VPC ENI-(?P<name>.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_BALANCER = re.compile(r"ELB (?:(?:app|net|gwy)/)?(?P<name>[^/]+)(?P<id>/\w+)?")

_LAMBDA_RELEASES_IT = "AWS Lambda releases it, which takes 20 to 40 minutes from the deletion of its function"


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """A resource in the VPC that the stack does not own.

    Attributes:
        id: Its id, or the name of a load balancer.
        about: What it is.
        fate: What becomes of it.
        remedy: What happens to it, or the command that removes it.
    """

    id: str
    about: str
    fate: Fate
    remedy: str

    @property
    def line(self) -> str:
        """The resource and its remedy."""
        return f"{self.id} ({self.about}): {self.remedy}"


@dataclass(frozen=True, kw_only=True)
class _Vpc:
    """A VPC that a stack made, as the rules of ownership read it."""

    account: Account
    stack: DeployedStack
    id: str
    clusters: tuple[str, ...]
    has_cluster: bool

    def describe(self, operation: str, key: str) -> list[dict[str, Any]]:
        return self.account.all("ec2", operation, key, Filters=[{"Name": "vpc-id", "Values": [self.id]}])

    def is_clusters(self, tags: Mapping[str, str]) -> bool:
        """Return whether the tags say that the cluster made it."""
        return any(
            tags.get(f"kubernetes.io/cluster/{name}") == "owned" or name in (tags.get(tag) for tag in _OWNER_TAGS)
            for name in self.clusters
        )

    def made(self, id: str, about: str) -> Leftover:
        """Return a resource that the cluster made, which this library removes once there is no cluster."""
        if self.has_cluster:
            return Leftover(id=id, about=about, fate="later", remedy="it is removed after the cluster")
        return Leftover(id=id, about=about, fate="removed", remedy="it is removed, because its cluster is deleted")

    def foreign(self, id: str, about: str, tags: Mapping[str, str], command: str) -> Leftover:
        """Return a resource of someone else, which its owner removes."""
        remedy = f"remove it with 'aws {command} --region {self.account.region}'"
        if stack := tags.get(_STACK_TAG):
            remedy = f"it is of the stack {stack}: delete that stack first"
        elif tags.get("GuardDutyManaged") == "true" or "guardduty" in about.lower():
            remedy += " when the cluster is deleted: until then GuardDuty's Runtime Monitoring makes it again"
        return Leftover(id=id, about=about, fate="named", remedy=remedy)


def find_leftovers(account: Account, stack: DeployedStack) -> list[Leftover]:
    """Return the resources in the VPC of a stack that are not the stack's, those that hold others first.

    A VPC of another stack, or an existing one, stays as it is.

    Raises:
        AwsError: They cannot be read.
    """
    clusters = (*stack.ids(CLUSTER), *stack.deleted_ids(CLUSTER))
    found: list[Leftover] = []
    for id in stack.ids(_VPC):
        has_cluster = any(_exists(account, name) for name in clusters)
        vpc = _Vpc(account=account, stack=stack, id=id, clusters=clusters, has_cluster=has_cluster)
        found += [*_endpoints(vpc), *_interfaces(vpc), *_groups(vpc)]
    return found


def remove(account: Account, leftover: Leftover) -> str | None:
    """Remove a resource that a deleted cluster made; return the reason where that is not possible yet, else None."""
    try:
        if leftover.id.startswith("eni-"):
            account.ask("ec2", "delete_network_interface", NetworkInterfaceId=leftover.id)
        else:
            account.ask("ec2", "delete_security_group", GroupId=leftover.id)
    except RequestError as error:
        return str(error)
    return None


def _exists(account: Account, cluster: str) -> bool:
    return account.find("eks", "describe_cluster", "ResourceNotFoundException", name=cluster) is not None


def _endpoints(vpc: _Vpc) -> Iterator[Leftover]:
    for each in vpc.describe("describe_vpc_endpoints", "VpcEndpoints"):
        id, tags = each["VpcEndpointId"], _tags(each)
        if id not in vpc.stack.ids(_ENDPOINT) and each.get("State") not in ("deleting", "deleted"):
            about = f"endpoint of {each['ServiceName']}"
            yield vpc.foreign(id, about, tags, f"ec2 delete-vpc-endpoints --vpc-endpoint-ids {id}")


def _interfaces(vpc: _Vpc) -> Iterator[Leftover]:
    of_lustre = _interfaces_of_lustre(vpc)
    balancers: set[str] = set()
    for each in vpc.describe("describe_network_interfaces", "NetworkInterfaces"):
        text = each.get("Description", "")
        if each["NetworkInterfaceId"] in of_lustre or text.startswith(_OF_ENDPOINT):
            continue
        if match := _OF_BALANCER.fullmatch(text):
            # It has an interface in each zone.
            if match["name"] not in balancers:
                balancers.add(match["name"])
                yield _balancer(vpc, match["name"], is_classic=match["id"] is None, tags=_tags(each))
        elif found := _interface(vpc, each, text):
            yield found


def _interfaces_of_lustre(vpc: _Vpc) -> set[str]:
    """Return the interfaces of the stack's file systems, whose description names none."""
    ids = vpc.stack.ids(FILE_SYSTEM)
    if not ids:
        return set()
    # While the stack is deleted, one may be gone.
    found = vpc.account.find("fsx", "describe_file_systems", "FileSystemNotFound", FileSystemIds=list(ids)) or {}
    return {interface for each in found.get("FileSystems", ()) for interface in each.get("NetworkInterfaceIds", ())}


def _balancer(vpc: _Vpc, name: str, *, is_classic: bool, tags: Mapping[str, str]) -> Leftover:
    command = f"elb delete-load-balancer --load-balancer-name {name}"
    if not is_classic:
        arn = f"aws elbv2 describe-load-balancers --names {name} --query LoadBalancers[0].LoadBalancerArn --output text"
        command = f"elbv2 delete-load-balancer --load-balancer-arn $({arn} --region {vpc.account.region})"
    about = (
        "load balancer, often of a Service: 'kubectl get service -A' shows those, and 'kubectl delete service' ends it"
    )
    return vpc.foreign(name, about, tags, command)


def _interface(vpc: _Vpc, interface: Mapping[str, Any], text: str) -> Leftover | None:
    """Return an interface that stays; None for one that goes with a resource of the stack."""
    id, tags = interface["NetworkInterfaceId"], _tags(interface)
    is_free = interface.get("Status") == "available"
    if fate := _fate_of_lambdas(vpc.stack, text):
        return Leftover(id=id, about=text, fate=fate, remedy=_LAMBDA_RELEASES_IT)
    if vpc.is_clusters(tags):
        # One of a node goes with the node.
        return vpc.made(id, text or "interface of a node") if is_free else None
    if any(re.search(rf"(?<![\w-]){re.escape(each.id)}(?![\w-])", text) for each in vpc.stack.resources):
        return None
    if instance := interface.get("Attachment", {}).get("InstanceId"):
        return vpc.foreign(id, f"interface of {instance}", tags, f"ec2 terminate-instances --instance-ids {instance}")
    about = f"interface, {interface.get('Status', 'state not known')}: {text or 'no description'}"
    if not is_free:
        about += "; delete what uses it first"
    return vpc.foreign(id, about, tags, f"ec2 delete-network-interface --network-interface-id {id}")


def _fate_of_lambdas(stack: DeployedStack, text: str) -> Fate | None:
    """Return the fate of the interface of a function of the stack; None for any other interface."""
    match = _OF_FUNCTION.fullmatch(text)
    if match is None:
        return None
    if match["name"] in stack.ids(_FUNCTION):
        return "later"
    return "awaited" if match["name"] in stack.deleted_ids(_FUNCTION) else None


def _groups(vpc: _Vpc) -> Iterator[Leftover]:
    for each in vpc.describe("describe_security_groups", "SecurityGroups"):
        id, name, tags = each["GroupId"], each["GroupName"], _tags(each)
        # The default group goes with the VPC.
        if id in vpc.stack.ids(_GROUP) or name == "default":
            continue
        about = f"security group {name}"
        if vpc.is_clusters(tags):
            yield vpc.made(id, about)
        else:
            yield vpc.foreign(id, about, tags, f"ec2 delete-security-group --group-id {id}")


def _tags(resource: Mapping[str, Any]) -> Mapping[str, str]:
    # Interfaces have them under another name.
    return {each["Key"]: each["Value"] for each in resource.get("Tags") or resource.get("TagSet") or ()}
