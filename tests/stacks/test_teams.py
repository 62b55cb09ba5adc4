"""A team that comes to a running cluster takes nothing away: no resource is deleted or replaced."""

from typing import Any

import pytest

from tests.stacks.changes import templates

VISION = {"user_id": 2001, "gpus": {"gpu": 8}, "member_arns": ["arn:aws:iam::111122223333:role/Vision"]}
SPEECH = {"user_id": 2002, "gpus": {"gpu": 8}, "member_arns": ["arn:aws:iam::111122223333:role/Speech"]}
BOTH = {**VISION, "member_arns": [*VISION["member_arns"], *SPEECH["member_arns"]]}  # type: ignore[misc]

#: Types whose properties change in place, and those properties.
IN_PLACE = {
    "AWS::EKS::AccessEntry": {"AccessPolicies", "KubernetesGroups"},
    "AWS::EKS::Addon": {"ConfigurationValues"},
    "Custom::AWSCDK-EKS-HelmChart": {"Values"},
    "Custom::AWSCDK-EKS-KubernetesResource": {"Manifest"},
}


def resources(**teams: dict[str, Any]) -> dict[str, Any]:
    found = templates({"job_queue": {}, "teams": teams})["TrainingClusterStack"]["Resources"]
    assert isinstance(found, dict)
    return found


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, set[str]]:
    """Return the properties that differ, by the ids of the resources."""
    found = {}
    for id, old in before.items():
        new = after[id]
        assert {key: new.get(key) for key in old if key not in ("Properties", "DependsOn")} == {
            key: old[key] for key in old if key not in ("Properties", "DependsOn")
        }
        names = old["Properties"].keys() | new["Properties"].keys()
        found[id] = {name for name in names if old["Properties"].get(name) != new["Properties"].get(name)}
    return {id: names for id, names in found.items() if names}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"vision": VISION}),
        ({"vision": VISION}, {"vision": VISION, "speech": SPEECH}),
        ({"vision": BOTH}, {"vision": BOTH, "speech": SPEECH}),
        ({"speech": SPEECH}, {"speech": SPEECH, "vision": VISION}),
    ],
)
def test_one_more_team_changes_the_rest_in_place(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = resources(**before), resources(**after)
    assert set(old) <= set(new)
    for id, names in changes(old, new).items():
        assert names <= IN_PLACE[old[id]["Type"]], id


def test_the_second_team_changes_the_queues_and_who_is_in_both_alone() -> None:
    old, new = resources(vision=BOTH), resources(vision=BOTH, speech=SPEECH)
    changed = {id: old[id]["Properties"] for id in changes(old, new)}
    queues = {id for id in changed if "ClusterQueue" in changed[id].get("Manifest", "")}
    charts = {id for id in changed if changed[id].get("Release") == "kueue"}
    (entry,) = changed.keys() - queues - charts
    assert len(queues) == 2
    assert len(charts) == 1
    assert changed[entry]["PrincipalArn"] == "arn:aws:iam::111122223333:role/Speech"


def test_a_team_that_leaves_keeps_its_namespace() -> None:
    old, new = resources(vision=VISION, speech=SPEECH), resources(vision=VISION)
    gone = [each for id, each in old.items() if id not in new]
    (namespace,) = (each for each in gone if '"Namespace"' in each["Properties"].get("Manifest", ""))
    assert namespace["DeletionPolicy"] == "Retain"
