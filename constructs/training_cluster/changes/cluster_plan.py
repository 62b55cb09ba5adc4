"""The plan of a deployment: the changes of each stack and their effects; nothing is changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import STUCK, SUBNET, DeployedStack, find_stack
from training_cluster.account.deployed_template import deployed_template
from training_cluster.account.node_releases import NodeRelease, read_releases
from training_cluster.changes.assembly import AppStack
from training_cluster.changes.findings import LOST, REJECTED, UNKNOWN, Finding, Rule
from training_cluster.changes.live_cluster import LiveCluster
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.rules import RULES
from training_cluster.changes.template_changes import Template, value_at
from training_workloads.aws.errors import NoPermissionError, RequestError
from training_workloads.cluster.failures import ClusterError
from training_workloads.validation import InputError, Problem

__all__ = ["ClusterPlan", "plan_deployment"]

_UNKNOWN = "unknown-"
_ELSEWHERE = "set AWS_PROFILE and AWS_REGION to where it is, and repeat"
_ZONE = "Properties/AvailabilityZone"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterPlan:
    """A deployment before it is made.

    Attributes:
        stacks: The stacks of the app, those with changes and those without.
        findings: The effects that a person must know.
        releases: The releases of the AMI of the deployed node groups.
    """

    stacks: tuple[PlannedStack, ...]
    findings: tuple[Finding, ...]
    releases: tuple[NodeRelease, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether nothing is lost and AWS rejects nothing, as far as it could be read."""
        return not any(each.outcome in (LOST, REJECTED) for each in self.findings)


def plan_deployment(account: Account, stacks: Sequence[AppStack], context: str | None) -> ClusterPlan:
    """Compare the deployed stacks with those of the app.

    Args:
        account: The account.
        stacks: The stacks of the app.
        context: Context of the kubeconfig. Default: the current one.

    Raises:
        InputError: Every stack is of another account or region.
        AwsError: AWS cannot be asked, or the stacks cannot be read.
    """
    # First: without credentials no stack can be read.
    here = f"aws://{account.number}/{account.region}"
    elsewhere = [each for each in stacks if not _is_here(each, here)]
    if elsewhere and len(elsewhere) == len(stacks):
        given, allowed = elsewhere[0].environment, f"your credentials are of {here}"
        raise InputError(Problem(path=("env",), given=given, allowed=allowed, fix=_ELSEWHERE))
    names = frozenset(each.name for each in stacks)
    planned = tuple(_planned(account, each, names) for each in stacks if each not in elsewhere)
    unknown = (_not_here(each, here) for each in elsewhere)
    findings, releases = [*_findings(account, planned, context), *unknown], list[NodeRelease]()
    for stack in planned:
        try:
            releases += read_releases(account, stack.deployed, stack.new) if stack.deployed else ()
        except RequestError as error:
            subject = f"{stack.name}: the releases of the AMI"
            findings.append(Finding(outcome=UNKNOWN, subject=subject, effect=f"they cannot be read: {error}"))
    return ClusterPlan(stacks=planned, findings=tuple(findings), releases=tuple(releases))


def _is_here(stack: AppStack, here: str) -> bool:
    pairs = zip(stack.environment.split("/"), here.split("/"), strict=True)
    return all(given == own or given.startswith(_UNKNOWN) for given, own in pairs)


def _not_here(stack: AppStack, here: str) -> Finding:
    effect = f"not compared: it is of {stack.environment}, and your credentials are of {here}"
    return Finding(outcome=UNKNOWN, subject=stack.name, effect=effect, remedy=_ELSEWHERE)


def _planned(account: Account, stack: AppStack, app: frozenset[str]) -> PlannedStack:
    name, new = stack.name, stack.template
    deployed = find_stack(account, name)
    old = _with_zones(account, deployed, deployed_template(account, name), new) if deployed else {}
    return PlannedStack(name=name, deployed=deployed, old=old, new=new, app=app)


def _with_zones(account: Account, stack: DeployedStack, template: Template, new: Template) -> Template:
    """Return a deployed template that names the zones which the new one names: they may be the same."""
    resources = template.get("Resources", {})
    unnamed = {
        each.id: each.logical_id
        for each in stack.resources
        if each.kind == SUBNET
        and isinstance(value_at(new.get("Resources", {}).get(each.logical_id), _ZONE), str)
        and not isinstance(value_at(resources.get(each.logical_id), _ZONE), str)
    }
    if not unnamed:
        return template
    only = [{"Name": "subnet-id", "Values": sorted(unnamed)}]
    found = account.all("ec2", "describe_subnets", "Subnets", Filters=only)
    zones = {unnamed[each["SubnetId"]]: each["AvailabilityZone"] for each in found}
    named = {
        id: {**resources[id], "Properties": {**resources[id]["Properties"], "AvailabilityZone": zone}}
        for id, zone in zones.items()
        if id in resources
    }
    return {**template, "Resources": {**resources, **named}}


def _findings(account: Account, stacks: tuple[PlannedStack, ...], context: str | None) -> Iterator[Finding]:
    for stack in stacks:
        if stack.deployed:
            yield from _state(stack.deployed)
            live = LiveCluster(account=account, stack=stack.deployed, context=context)
            for rule in RULES:
                yield from _found(rule, stack, live)


def _state(stack: DeployedStack) -> Iterator[Finding]:
    """Yield the finding of a stack that cannot be updated in its state."""
    if stack.status in STUCK:
        effect = f"it is {stack.status}, and CloudFormation updates it only after that is fixed"
        yield Finding(outcome=REJECTED, subject=stack.name, effect=effect, remedy=STUCK[stack.status])
    elif stack.status.endswith("_IN_PROGRESS"):
        effect = f"it is {stack.status}: its template may be that of the deployment which runs"
        yield Finding(outcome=UNKNOWN, subject=stack.name, effect=effect, remedy="wait for its end, and plan again")


def _found(rule: Rule, stack: PlannedStack, live: LiveCluster) -> Iterator[Finding]:
    """Yield the findings of a rule; where it cannot finish, the last one says why."""
    try:
        yield from rule(stack, live)
    except (NoPermissionError, ClusterError) as error:
        yield _unknown(rule, stack, error.event, error.fix)
    except RequestError as error:
        yield _unknown(rule, stack, str(error))


def _unknown(rule: Rule, stack: PlannedStack, why: str, remedy: str = "") -> Finding:
    subject = f"{stack.name}: whether {rule.__name__.replace('_', ' ')}"
    return Finding(outcome=UNKNOWN, subject=subject, effect=f"it cannot be read: {why}", remedy=remedy)
