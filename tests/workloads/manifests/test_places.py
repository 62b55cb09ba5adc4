from typing import Any

import pytest

from training_workloads.manifests.places import CONTAINERS, places

POD: dict[str, Any] = {
    "metadata": {"labels": {"a": "b", 7: "c"}},
    "spec": {
        "initContainers": [{"name": "first", "ports": [{"name": "p"}, None]}],
        "containers": [{"name": "second"}, 5, {"name": None}],
    },
}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("spec.containers[].name", [(("spec", "containers", 0, "name"), "second")]),
        (
            f"{CONTAINERS}.name",
            [(("spec", "initContainers", 0, "name"), "first"), (("spec", "containers", 0, "name"), "second")],
        ),
        (f"{CONTAINERS}.ports[].name", [(("spec", "initContainers", 0, "ports", 0, "name"), "p")]),
        ("metadata.labels{}", [(("metadata", "labels", "a"), "b")]),
        ("metadata.labels|annotations{}", [(("metadata", "labels", "a"), "b")]),
        ("spec.containers", [(("spec", "containers"), POD["spec"]["containers"])]),
        ("spec.containers.name", []),
        ("spec.containers{}", []),
        ("metadata[].labels", []),
        ("nothing[].at.all", []),
    ],
)
def test_a_pattern_finds_each_place_that_has_a_value(pattern: str, found: list[Any]) -> None:
    assert [tuple(place) for place in places(POD, pattern)] == found


def test_paths_begin_with_that_of_the_root() -> None:
    (place,) = places(POD, "metadata.labels.a", ("spec", "template"))
    assert place.path == ("spec", "template", "metadata", "labels", "a")


@pytest.mark.parametrize("root", [None, 5, "x", []])
def test_other_values_have_no_places(root: Any) -> None:
    assert list(places(root, "a[].b")) == []
