"""Every key of cluster.yaml changes, and some in pairs: no node group is updated in a way that EKS rejects."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stacks.change_effects import EFFECTS, REJECTION, effects_of
from tests.stacks.changes import CHANGES, PAIRS, Change, Templates, effects, exports, templates, templates_of_file
from tests.stacks.deployments import Deployment, deployments
from tests.stacks.effects_page import MARK, PAGE, row
from tests.stacks.templates import SCENARIOS
from tests.stacks.templates import templates as templates_of
from training_cluster import ClusterConfig, NodeRepair
from training_cluster.account.deployed_stack import NODE_GROUP
from training_cluster.account.kept_resources import KeptResource
from training_cluster.changes.findings import REJECTED, Jobs
from training_cluster.changes.node_group_rules import node_groups_are_updated
from training_cluster.changes.planned_stack import PlannedStack, group_name
from training_cluster.config import (
    GpuNodeGroupConfig,
    JobIdentitySpec,
    JobQueueSpec,
    LustreConfig,
    SystemNodesSpec,
    TeamSpec,
)
from training_workloads.spec import Spec

#: What others may import of the key, the bucket and the images.
EXPORTS = {
    "TrainingDataStack:ExportsOutputFnGetAttBucket83908E77Arn063C8555",
    "TrainingDataStack:ExportsOutputFnGetAttImages2D38C313Arn6C6DDC6E",
    "TrainingDataStack:ExportsOutputFnGetAttKey961B73FDArn5A860C43",
    "TrainingDataStack:ExportsOutputRefBucket83908E7781C90AC0",
    "TrainingDataStack:ExportsOutputRefImages2D38C3131DF9B1C4",
}

SECTIONS: dict[str, type[Spec]] = {
    "": ClusterConfig,
    "node_groups.gpu.": GpuNodeGroupConfig,
    "node_groups.gpu.node_repair.": NodeRepair,
    "system_nodes.": SystemNodesSpec,
    "lustre.": LustreConfig,
    "job_queue.": JobQueueSpec,
    "service_accounts.trainer.": JobIdentitySpec,
    "teams.vision.": TeamSpec,
}


def test_every_key_changes() -> None:
    keys = {f"{section}{key}" for section, model in SECTIONS.items() for key in model.model_fields}
    # Each of these is the keys of its section.
    keys -= {"system_nodes"}
    # The whole section `node_repair` is that key.
    assert {each.key for each in CHANGES} - {"tags"} == keys - {"node_groups.gpu.node_repair.enabled"}


@pytest.mark.parametrize("deployment", deployments(), ids=str)
def test_no_key_makes_an_update_that_eks_rejects_but_some_pairs_do(deployment: Deployment) -> None:
    before, after = templates(deployment.before), templates(deployment.after, deployment.tag)
    found = effects(before, after)
    assert found == {name: deployment.wanted[name] for name in found}
    plan = planned(before, after)
    assert rejected(plan) == rejected(found)
    # The plan follows references, such as that of the system nodes to a subnet that is replaced.
    assert {name for name, effect in found.items() if effect == "replaced"} <= plan.keys()
    # Nor does it take an export away from a stack that imports it, unless its resource leaves the stack.
    lost = [change.lost_export for change in deployment.changes if change.lost_export]
    assert exports(before) == EXPORTS
    assert exports(after) == {each for each in EXPORTS if not any(part in each for part in lost)}


def rejected(found: Mapping[str, str]) -> set[str]:
    return {name for name, effect in found.items() if effect == "rejected"}


class Idle:
    """A cluster without nodes."""

    def node_group(self, id: str) -> None:
        return None

    def lustre(self, id: str) -> None:
        return None

    def kept(self, kind: str, id: str) -> KeptResource:
        raise AssertionError("no resource stays")

    def importers(self, export: str) -> list[str]:
        return []

    def jobs_on(self, group: str) -> Jobs:
        raise AssertionError("no node runs a job")

    def jobs_in(self, namespace: str | None) -> tuple[str, ...]:
        return ()


def planned(before: Templates, after: Templates) -> dict[str, str]:
    """Return the effects that `trainctl cluster plan` finds for the node groups, by name."""
    name = "TrainingClusterStack"
    stack = PlannedStack(name=name, deployed=None, old=before[name], new=after[name])
    groups = {stack.title(each): each for each in stack.of_kind(NODE_GROUP)}
    replaced = {group_name(each): "replaced" for each in groups.values() if each.action == "replace"}
    found = [each for each in node_groups_are_updated(stack, Idle()) if each.outcome == REJECTED]
    return replaced | {group_name(groups[each.subject]): "rejected" for each in found}


def cells(change: Change, page: str) -> str:
    """Return the last cell of a change's row."""
    (found,) = re.findall(rf"^{re.escape(row(change))} (.+) \|$", page, flags=re.M)
    return str(found)


@pytest.mark.parametrize("deployment", deployments(), ids=str)
def test_the_page_has_the_effects_of_each_change(deployment: Deployment) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = set(effects_of(templates(deployment.before), templates(deployment.after, deployment.tag)))
    listed = {effect for change in deployment.changes for effect in EFFECTS if effect in cells(change, page)}
    if "rejected" in deployment.wanted.values():
        # A pair of them.
        listed.add(REJECTION)
    # Beside a change of the whole configuration some groups have another one too.
    beside = deployment.changes[0].key in ("tags", "kubernetes_version")
    assert listed - {"nothing"} <= found, "run 'make change-effects'"
    assert beside or found - {"nothing"} == listed - {"nothing"}, "run 'make change-effects'"


def test_the_page_has_a_row_of_each_change_and_no_other() -> None:
    (found,) = MARK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found.splitlines()) - 2 == len(CHANGES)
    assert all(cells(each, found) for each in CHANGES)


def test_each_change_is_deployed() -> None:
    deployed = [change for deployment in deployments() for change in deployment.changes]
    assert [change for change in CHANGES if change not in deployed] == []


BY_KEY = {change.key: change for change in CHANGES}


def test_pairs_are_rejected_where_nodes_and_settings_change() -> None:
    for keys, effect in PAIRS:
        both = {BY_KEY[key].gpu for key in keys}
        assert (effect == "rejected") == (both == {"nodes", "settings"}), keys


def test_the_page_lists_the_keys_that_do_not_change_together(root: Path) -> None:
    section = (root / "docs/configuration.md").read_text().partition("### Keys in separate deployments")[2]
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.+?) \|", section.partition("\n### ")[0], flags=re.M))
    for name, effect in (("the nodes", "nodes"), ("the settings", "settings")):
        paths = {each.key.removeprefix("node_groups.gpu.") for each in CHANGES if each.gpu == effect}
        keys = {path.partition(".")[0] for path in paths}
        assert set(re.findall(r"`(\w+)`", rows[name])) == keys - {"tags"}, name


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_has_the_same_exports(scenario: str) -> None:
    assert exports({name: dict(each.to_json()) for name, each in templates_of(scenario).items()}) == EXPORTS


def test_the_default_configuration_has_them_too(root: Path) -> None:
    assert exports(templates_of_file(root / "cluster.yaml")) == EXPORTS
