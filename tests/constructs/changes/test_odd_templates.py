"""A template with a value of another type anywhere is planned without that value, or is one line; never a traceback."""

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.constructs.changes.test_assembly import manifest, read
from tests.constructs.changes.test_findings import of_templates
from tests.stacks.templates import templates
from training_cluster.changes.cluster_plan import ClusterPlan
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.cli.plan_output import plan_as_data, print_plan
from training_workloads.validation import InputError

Path = tuple[str | int, ...]

FUNCTIONS = ("Fn::Sub", "Fn::GetAtt", "Fn::If", "Fn::FindInMap", "Fn::Join")
ARGUMENTS: tuple[Any, ...] = (3, "x", [], [[]], [{}, 3])
PLAIN: tuple[Any, ...] = (None, True, 3, "x", "{", [], ["x"], [None], {}, {"x": 1}, {"Ref": 3}, {"Ref": []})
ODD = (*PLAIN, *({function: argument} for function in FUNCTIONS for argument in ARGUMENTS))
# The types on whose properties the rules and the price look.
KINDS = (
    "AWS::EKS::",
    "AWS::FSx::",
    "AWS::EFS::",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::Subnet",
    "Custom::AWSCDK-EKS",
)
MUTATIONS = 60
SEED = 7


@cache
def deployed() -> dict[str, Any]:
    return dict(templates("mixed-scaled-to-zero")["TrainingClusterStack"].to_json())


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from paths(each, (*path, key))


def places(template: dict[str, Any]) -> list[Path]:
    """Return one path of each shape: lists and resources of a type have many alike."""
    found: dict[Path, Path] = {}
    for path in filter(None, paths(template)):
        kind = template["Resources"][path[1]]["Type"] if path[0] == "Resources" and len(path) > 1 else ""
        if path[0] != "Resources" or kind.startswith(KINDS):
            shape = (path[0], kind, *("*" if isinstance(key, int) else key for key in path[2:]))
            found.setdefault(shape, path)
    return list(found.values())


def changed(template: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    result = copy.deepcopy(template)
    parent = result
    for key in path[:-1]:
        parent = parent[key]  # type: ignore[index]
    parent[path[-1]] = value  # type: ignore[index]
    return result


def planned(folder: Any, new: dict[str, Any]) -> str | None:
    """Plan the change as the command does; return the line where the template is rejected."""
    try:
        read(folder, manifest(), new)
    except InputError as error:
        return str(error)
    stack = PlannedStack(name="A", deployed=None, old=deployed(), new=new)
    plan = ClusterPlan(stacks=(stack,), findings=tuple(of_templates(deployed(), new)))
    print_plan(plan)
    json.dumps(plan_as_data(plan))
    return None


def test_a_value_of_another_type_anywhere(tmp_path: Any) -> None:
    choice = random.Random(SEED)
    lines = [
        planned(tmp_path, changed(deployed(), path, choice.choice(ODD)))
        for path in choice.sample(places(deployed()), MUTATIONS)
    ]
    rejected = [line for line in lines if line is not None]
    assert 0 < len(rejected) < MUTATIONS / 2
    assert not any("\n" in line for line in rejected)
