from typing import Any

import pytest

from tests.workloads.lint.sample_job import GONE, changed, path_of
from training_workloads.lint.misplaced import Corrected, unknown_fields


def meant(changes: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return where each unknown field is, and where it belongs."""
    return [(field.path, field.meant) for field in unknown_fields("MPIJob", changed(changes))]


@pytest.mark.parametrize(
    ("place", "value", "removed", "target"),
    [
        ("spec cleanPodPolicy", "All", "spec runPolicy", "spec runPolicy cleanPodPolicy"),
        ("spec minAvailable", 3, None, "spec runPolicy schedulingPolicy minAvailable"),
        ("spec Launcher", {}, "LAUNCHER", "LAUNCHER"),
        ("WORKER nodeSelector", {"a": "b"}, "WORKER-POD nodeSelector", "WORKER-POD nodeSelector"),
        ("WORKER-POD resources", {"limits": {"cpu": 1}}, None, None),
        ("WORKER-POD volumeMounts", [], "WORKER-CONTAINER volumeMounts", "WORKER-CONTAINER volumeMounts"),
        ("WORKER-CONTAINER limits", {"cpu": 1}, "WORKER-CONTAINER resources", "WORKER-CONTAINER resources limits"),
        ("WORKER-CONTAINER hostNetwork", True, None, "WORKER-POD hostNetwork"),
        ("WORKER-CONTAINER preStop", {}, None, "WORKER-CONTAINER lifecycle preStop"),
        ("WORKER-CONTAINER privileged", True, None, "WORKER-CONTAINER securityContext privileged"),
        ("WORKER template containers", [], "WORKER-POD containers", "WORKER-POD containers"),
        ("WORKER-CONTAINER resource", {}, "WORKER-CONTAINER resources", "WORKER-CONTAINER resources"),
        ("WORKER-POD termination", 5, None, "WORKER-POD terminationGracePeriodSeconds"),
        # Four levels away.
        ("spec runPolicy schedulingPolicy restartPolicy", "Never", None, "LAUNCHER restartPolicy"),
        # Fewer than five letters are no beginning of a name.
        ("WORKER-POD term", 5, None, None),
        # Several places may be meant, or the value does not fit.
        ("WORKER-CONTAINER initialDelaySeconds", 5, "WORKER-CONTAINER readinessProbe", None),
        ("spec cleanPodPolicy", 5, "spec runPolicy", None),
        ("WORKER-POD name", "x", None, None),
    ],
)
def test_a_field_belongs_to_the_nearest_place_that_lacks_it(
    place: str, value: Any, removed: str | None, target: str | None
) -> None:
    found = meant({**({removed: GONE} if removed else {}), place: value})
    if place == "WORKER-POD resources":
        assert found == []
    else:
        assert found == [(path_of(place), path_of(target) if target else None)]


def test_a_document_is_corrected_with_its_fields_and_types() -> None:
    wrong = changed({"spec runPolicy": GONE, "spec cleanPodPolicy": "All", "spec slotsPerWorker": "8"})
    corrected = Corrected.of("MPIJob", wrong)
    assert corrected.document["spec"]["runPolicy"] == {"cleanPodPolicy": "All"}
    assert corrected.document["spec"]["slotsPerWorker"] == 8
    assert corrected.source_path(("spec", "runPolicy", "cleanPodPolicy")) == ("spec", "cleanPodPolicy")
    assert corrected.source_path(("spec", "slotsPerWorker")) is None
    assert corrected.gives(("spec", "runPolicy"))
    assert "runPolicy" not in wrong["spec"]
