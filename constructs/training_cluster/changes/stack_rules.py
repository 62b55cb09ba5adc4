"""The rules of CloudFormation that a deployment breaks: types, names and exports."""

from collections.abc import Iterator

from training_cluster.account.deployed_stack import CLUSTER
from training_cluster.changes.findings import KEPT, REJECTED, SEPARATE, UNKNOWN, Finding, Live
from training_cluster.changes.planned_stack import PlannedStack

__all__ = [
    "exports_are_imported",
    "identities_are_fixed",
    "names_are_taken",
    "nested_stacks_change",
    "stacks_leave_the_app",
    "values_change",
]

_NESTED = "AWS::CloudFormation::Stack"

_KEEP_CLUSTER = "keep its values, or destroy the cluster ('trainctl cluster destroy') and deploy it anew"


def identities_are_fixed(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation changes neither the type of a resource nor the function of a custom resource."""
    for change in stack.changes:
        effect = ""
        if change.before and change.after and change.before["Type"] != change.after["Type"]:
            effect = f"its type changes from {change.before['Type']}, which CloudFormation does not allow"
        elif change.action != "create" and "ServiceToken" in change.paths:
            effect = "its function changes (ServiceToken), which CloudFormation does not allow"
        if effect:
            remedy = "give its construct another id: the new one is made, and then the deployed one deleted"
            yield Finding(outcome=REJECTED, subject=stack.title(change), effect=effect, remedy=remedy)


def names_are_taken(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation makes the new resource first, which cannot have the name of the deployed one."""
    for change in stack.changes:
        if change.action != "replace":
            continue
        kind = change.kind.rpartition("::")[2]
        for property in ("Name", f"{kind}Name"):
            name = change.new.get(property)
            # What is in a cluster that is replaced has another name with the new cluster, or a place in it.
            if not {property, "ClusterName"}.isdisjoint(change.followed):
                continue
            if name is not None and name == change.old.get(property):
                shown = f" {name!r}" if isinstance(name, str) else ""
                effect = f"can only be replaced, and its name{shown} is taken until it is deleted"
                yield Finding(
                    outcome=REJECTED,
                    subject=stack.title(change),
                    effect=effect,
                    keys=stack.keys(change),
                    remedy=_KEEP_CLUSTER if change.kind == CLUSTER else "",
                    steps=() if change.kind == CLUSTER else SEPARATE,
                )


def exports_are_imported(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """CloudFormation removes no export that another stack imports."""
    for export in stack.removed_exports:
        if stacks := live.importers(export):
            yield Finding(
                outcome=REJECTED,
                subject=f"export {export}",
                effect=f"{', '.join(stacks)} imports it",
                steps=(f"cdk deploy --exclusively {' '.join(stacks)}, without it", f"cdk deploy {stack.name}"),
            )


def stacks_leave_the_app(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """The CDK does not delete a stack that the app has no longer; one that imports an export is found by it."""
    if stack.app is None:
        return
    importers = {name for export in stack.exports for name in live.importers(export)}
    for name in sorted(importers - stack.app):
        effect = f"the app does not have it, and it uses {stack.name}: no deployment changes it, and it is billed"
        remedy = f"if the app had it, delete it: 'aws cloudformation delete-stack --stack-name {name}'"
        yield Finding(outcome=KEPT, subject=f"stack {name}", effect=effect, remedy=remedy)


def nested_stacks_change(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """The template of a nested stack is a separate file, which is not compared."""
    for change in stack.of_kind(_NESTED):
        if change.action != "create":
            effect = "a nested stack changes, and its resources are not compared"
            subject, remedy = stack.title(change), "see its resources in 'cdk diff'"
            yield Finding(outcome=UNKNOWN, subject=subject, effect=effect, remedy=remedy)


def values_change(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A parameter keeps its deployed value, and a condition decides which resources exist: neither is in a template."""
    for name in sorted(stack.changed_parameters):
        effect = "its definition changes; CloudFormation keeps its deployed value where 'cdk deploy' gives none"
        remedy = f"give it with 'cdk deploy --parameters {stack.name}:{name}=<value>' where another one is meant"
        yield Finding(outcome=UNKNOWN, subject=f"parameter {name}", effect=effect, remedy=remedy)
    for name in sorted(stack.changed_conditions):
        users = [id for id, each in stack.new.get("Resources", {}).items() if each.get("Condition") == name]
        if users:
            effect = f"it changes, and decides whether {', '.join(users)} exist"
            remedy = "see in 'cdk diff' what it is now, and whether a resource goes with it"
            yield Finding(outcome=UNKNOWN, subject=f"condition {name}", effect=effect, remedy=remedy)
