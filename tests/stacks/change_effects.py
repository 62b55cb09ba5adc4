"""The effects that `trainctl cluster plan` finds in a change of a deployed configuration, in words."""

import json
from collections.abc import Iterator
from typing import Final

from tests.stacks.changes import Templates
from training_cluster.account.deployed_stack import NODE_GROUP
from training_cluster.account.kept_resources import KeptResource
from training_cluster.account.lustre_state import LustreState
from training_cluster.changes.findings import KEPT, LOST, REJECTED, Jobs, LiveNodeGroup
from training_cluster.changes.planned_stack import PlannedStack, group_name
from training_cluster.changes.rules import RULES
from training_cluster.changes.template_changes import Template

__all__ = ["EFFECTS", "REJECTION", "effects_of"]

REJECTION: Final = "**rejected**"

#: In the order of a cell: the worst first.
EFFECTS: Final = (
    REJECTION,
    "**data lost**",
    "Lustre replaced, the old one kept",
    "data kept outside the stack",
    "node group replaced",
    "node group deleted",
    "nodes replaced one after the other",
    "nodes stop",
    "added",
    "removed",
    "in place",
    "nothing",
)
_, _LOST, _LUSTRE, _KEPT, _GROUP, _GONE, _NODES, _STOP, _ADDED, _REMOVED, _IN_PLACE, _NOTHING = EFFECTS


class Running:
    """A cluster whose node groups have two nodes each, and no job."""

    def node_group(self, id: str) -> LiveNodeGroup:
        """Return a node group with two nodes."""
        return LiveNodeGroup(status="ACTIVE", desired=2)

    def lustre(self, id: str) -> LustreState | None:
        """Return no state."""
        return None

    def kept(self, kind: str, id: str) -> KeptResource:
        """Return a resource without a price."""
        return KeptResource(kind=kind, id=id)

    def importers(self, export: str) -> list[str]:
        """Return the stack of another team."""
        return ["another stack"]

    def jobs_on(self, group: str) -> Jobs:
        """Return no jobs."""
        return Jobs()

    def jobs_in(self, namespace: str | None) -> tuple[str, ...]:
        """Return no jobs."""
        return ()


def effects_of(before: Templates, after: Templates) -> list[str]:
    """Return the effects of a deployment, the worst first."""
    names = dict.fromkeys([*before, *after])
    old, new = ({name: _with_zones(found.get(name, {})) for name in names} for found in (before, after))
    stacks = [PlannedStack(name=name, deployed=None, old=old[name], new=new[name]) for name in names]
    found = {effect for stack in stacks for effect in _effects(stack)}
    return [each for each in EFFECTS if each in found] or [_NOTHING]


def _with_zones(template: Template) -> Template:
    """Return a template with the names of the region's first zones, which the plan reads from the account."""
    text = json.dumps(template)
    for number, letter in enumerate("abc"):
        text = text.replace(f'{{"Fn::Select": [{number}, {{"Fn::GetAZs": ""}}]}}', f'"us-east-1{letter}"')
    found: Template = json.loads(text)
    return found


def _effects(stack: PlannedStack) -> Iterator[str]:
    words = {REJECTED: REJECTION, LOST: _LOST, KEPT: _KEPT}
    for finding in (each for rule in RULES for each in rule(stack, Running())):
        if finding.outcome == KEPT and finding.subject.startswith("FSx"):
            yield _LUSTRE
        elif finding.outcome in words:
            yield words[finding.outcome]
        elif "nodes are replaced" in finding.effect:
            yield _NODES
        elif "desired size" in finding.effect:
            yield _STOP
    actions = {"create": _ADDED, "remove": _REMOVED, "update": _IN_PLACE, "replace": _IN_PLACE}
    new = {group_name(each) for each in stack.of_kind(NODE_GROUP) if each.action in ("create", "replace")}
    for change in stack.changes:
        if change.kind == NODE_GROUP and change.before and change.deletes:
            yield _GROUP if group_name(change) in new else _GONE
        else:
            yield actions[change.action]
