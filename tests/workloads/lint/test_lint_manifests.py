"""The lint on manifests in the published shape of other projects, and on our own jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from training_workloads import INSTANCE_TYPES, HorovodJobSpec
from training_workloads.lint import lint_manifest, lint_text
from training_workloads.mpijob.api import API_VERSION, KIND
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.recipes import NEEDS, RECIPES, recipe

MANIFESTS = Path(__file__).parent / "manifests"

EXPECTED = {
    "fsx-static.yaml": {
        "error": ["persistent-2-with-s3", "volume-recycled"],
        "warning": [],
    },
    # All that the job sends goes over TCP, although its nodes have EFA.
    "mask-rcnn-p4d.yaml": {
        "error": [],
        "warning": [
            "efa-left-unused",
            "many-retries",
        ],
    },
    # Version 1 of the API, which the training operator serves.
    "mnist-elastic-v1.yaml": {"error": [], "warning": []},
    # Its launcher waits for the workers in a script, and gives mpirun the hostfile.
    "nccl-test-p5en.yaml": {
        "error": [],
        "warning": ["efa-memory"],
    },
    # Its numbers are placeholders.
    "nccl-test-template.yaml": {
        "error": [],
        "warning": [],
    },
    "nccl-tests-p5.yaml": {
        "error": [],
        "warning": [
            "literal-reference",
        ],
    },
    # Runs on CPUs; the image's entry point waits for the workers, and Intel MPI finds the hostfile.
    "pi-intel.yaml": {"error": [], "warning": []},
    "resnet50-p3-ksonnet.yaml": {"error": ["api-version"], "warning": []},
    "tensorflow-benchmarks.yaml": {
        "error": [],
        "warning": [],
    },
}


def test_every_manifest_has_an_expectation() -> None:
    assert {path.name for path in MANIFESTS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_wrong_with_the_manifests_of_others(name: str) -> None:
    found = [finding for finding, _ in lint_text((MANIFESTS / name).read_text())]
    levels = ("error", "warning")
    by_level = {level: sorted({one.rule for one in found if one.level == level}) for level in levels}
    assert by_level == EXPECTED[name]


def manifest(spec: MpiJobSpec) -> dict[str, Any]:
    """Return the job in the Kubernetes wire format."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": spec.name}, "spec": spec.to_wire()}


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in NEEDS])
def test_nothing_is_wrong_with_our_recipes(name: str) -> None:
    spec: Any = recipe(name)
    jobs = [spec.mpi_job] if hasattr(spec, "mpi_job") else []
    assert [str(finding) for job in jobs for finding in lint_manifest(manifest(job))] == []


def shapes() -> Iterator[tuple[str, int, int | None]]:
    """Yield each type with all its GPUs, with one of several, and without its EFA."""
    for instance in INSTANCE_TYPES.values():
        if instance.gpus:
            yield instance.name, instance.gpus, None
            # A worker with one of a node's GPUs may not get a whole EFA device.
            if instance.gpus > 1:
                yield instance.name, 1, 0 if instance.efa_interfaces % instance.gpus else None
            if instance.efa_interfaces:
                yield instance.name, instance.gpus, 0


@pytest.mark.parametrize(("instance_type", "gpus_per_worker", "efa_interfaces"), list(shapes()))
def test_nothing_is_wrong_with_a_horovod_job_on_any_type_but_its_retirement(
    job_spec: HorovodJobSpec, instance_type: str, gpus_per_worker: int, efa_interfaces: int | None
) -> None:
    instance = INSTANCE_TYPES[instance_type]
    # The default image does not support every GPU.
    changes = {"gpus_per_worker": gpus_per_worker, "efa_interfaces": efa_interfaces}
    spec = job_spec.replaced(instance_type=instance_type, framework="other", **changes)
    found = lint_manifest(manifest(spec.mpi_job))
    assert [finding.rule for finding in found] == (["retired-instance-type"] if instance.retired else [])
