"""The lint never raises."""

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.lint.sample_job import changed
from training_workloads import InputError
from training_workloads.lint import Finding, lint_documents, lint_manifest, lint_text

WORDS = st.sampled_from(
    "MPIJob List PersistentVolume PersistentVolumeClaim StorageClass fsx.csi.aws.com spec containers command args env "
    "name value resources limits items kind mpirun horovodrun -np -x bash -c -- 16 Running None $N {{a}} 8Gi "
    "/dev/shm template replicatedJobs pytorchReplicaSpecs Worker trainer torchrun volumes affinity tolerations".split()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
KEYS = WORDS | st.text(max_size=4) | st.integers() | st.none() | st.booleans()
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)

# The APIs of the kinds that have one group of rules each.
KINDS = {
    "MPIJob": "kubeflow.org/v2beta1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "Service": "v1",
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "PyTorchJob": "kubeflow.org/v1",
    "TFJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "TrainingRuntime": "trainer.kubeflow.org/v1alpha1",
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each part of a document, without the document itself."""
    inside = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [found for key, inner in inside for found in [(*path, key), *places(inner, (*path, key))]]


def right_job() -> dict[str, Any]:
    """A job with a port, whose parts are new at each call: they are broken in place."""
    return changed({"WORKER-CONTAINER ports": [{"name": "ssh", "containerPort": 22}]})


PLACES = places(right_job())


@st.composite
def broken_jobs(draw: st.DrawFn) -> dict[str, Any]:
    """A right job without some of its parts, or with junk in their place."""
    job = right_job()
    for path in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=4)):
        at: Any = job
        for key in path[:-1]:
            at = at[key] if _has(at, key) else None
        if _has(at, path[-1]):
            at[path[-1]] = draw(JUNK)
            if draw(st.booleans()):
                del at[path[-1]]
    return job


def _has(value: Any, key: Any) -> bool:
    return (isinstance(value, dict) and key in value) or (
        isinstance(value, list) and isinstance(key, int) and key < len(value)
    )


def check(findings: list[Finding]) -> None:
    for finding in findings:
        assert all(isinstance(key, str | int) for key in finding.path)
        assert finding.problem
        assert finding.fix
        assert str(finding).endswith(f"[{finding.rule}]")


@settings(max_examples=60, deadline=None)
@given(broken_jobs())
def test_a_broken_job_is_linted(job: dict[str, Any]) -> None:
    check(lint_manifest(job))


@settings(max_examples=40, deadline=None)
@given(broken_jobs())
def test_the_text_of_a_broken_job_is_linted(job: dict[str, Any]) -> None:
    text = yaml.safe_dump(job, allow_unicode=True)
    for finding, line in lint_text(text):
        assert 1 <= line <= len(text.splitlines())
        check([finding])


@settings(max_examples=120, deadline=None)
@given(JUNK, st.sampled_from(sorted(KINDS)))
def test_any_spec_is_linted(spec: Any, kind: str) -> None:
    check(lint_manifest({"apiVersion": KINDS[kind], "kind": kind, "spec": spec, "metadata": spec, "parameters": spec}))


@settings(max_examples=40, deadline=None)
@given(st.lists(JUNK, max_size=3))
def test_any_documents_are_linted(documents: list[Any]) -> None:
    assert len(lint_documents(documents)) == len(documents)


@pytest.mark.parametrize("name", [["ssh"], {"a": 1}])
def test_a_port_whose_name_is_no_text_is_linted(name: Any) -> None:
    check(lint_manifest(changed({"WORKER-CONTAINER ports": [{"name": name, "containerPort": 22}]})))


@settings(max_examples=60, deadline=None)
@given(st.text() | JUNK.map(str))
def test_any_text_is_linted_or_rejected(text: str) -> None:
    with suppress(InputError):
        check([finding for finding, _ in lint_text(text)])


@pytest.mark.parametrize("job", [None, 7, "x", [], {}, {"kind": []}, {"kind": {"MPIJob": 1}}])
def test_other_values_than_objects_have_no_findings(job: Any) -> None:
    assert lint_manifest(job) == []
