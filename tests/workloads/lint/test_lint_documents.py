import json
from typing import Any

import pytest

from tests.workloads.lint.sample_job import GONE, JOB, changed
from training_workloads import InputError
from training_workloads.lint import lint_manifest, lint_read, lint_text
from training_workloads.manifests.documents import read_documents

RIGHT = JOB.lstrip()


def line_of(text: str, part: str) -> int:
    """The one line, from 1, that has a part."""
    (line,) = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    return line


def found(text: str) -> list[tuple[int, str]]:
    return [(line, finding.rule) for finding, line in lint_text(text)]


def test_each_finding_has_the_line_of_its_value() -> None:
    text = RIGHT.replace("restartPolicy: OnFailure", "restartPolicy: Always").replace(
        "slotsPerWorker: 8", "slotsPerWorker: 7"
    )
    text = text.replace('"16"', '"15"')
    assert found(text) == [
        (line_of(text, "slotsPerWorker: 7"), "slots-differ-from-gpus"),
        (line_of(text, "command: [mpirun"), "np-exceeds-slots"),
        (line_of(text, "restartPolicy: Always"), "restart-policy"),
    ]


def test_a_missing_field_has_the_line_of_the_field_around_it() -> None:
    text = RIGHT.replace("    cleanPodPolicy: Running\n", "    backoffLimit: 3\n")
    assert found(text) == [(line_of(text, "runPolicy:"), "workers-outlive-job")]


def test_lines_count_over_all_documents() -> None:
    text = f"# a comment\n{RIGHT}---\nkind: Service\n---\nkind: StorageClass\nprovisioner: fsx.csi.aws.com\n"
    assert found(text) == [(line_of(text, "kind: StorageClass"), "lustre-version-unset")]


def test_items_of_a_list_have_their_lines() -> None:
    items = [changed({"WORKER restartPolicy": "Always"}), changed({}), {"kind": "StorageClass", "provisioner": 5}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1)
    lines = text.splitlines()
    assert [(lines[line - 1].strip().rstrip(","), rule) for line, rule in found(text)] == [
        ('"restartPolicy": "Always"', "restart-policy"),
        ('"provisioner": 5', "storage-fields"),
    ]


def test_a_finding_within_an_alias_has_the_line_of_its_anchor() -> None:
    text = RIGHT.replace("memory: 900Gi", "memory: 8Gi")
    assert found(text) == [(line_of(text, "memory: 8Gi"), "efa-memory")]


def test_a_volume_and_its_claim_of_one_file_are_checked_together() -> None:
    spec = "spec: {storageClassName: a, accessModes: [ReadWriteMany]"
    named = "metadata: {name: data}\n"
    claim = f"kind: PersistentVolumeClaim\n{spec}, volumeName: data, resources: {{requests: {{storage: 2Ti}}}}}}\n"
    text = f"{claim}---\nkind: PersistentVolume\n{named}{spec}, capacity: {{storage: 1Ti}}}}\n"
    assert found(text) == [(2, "claim-differs-from-volume")]


def test_placeholders_stand_for_any_value() -> None:
    text = RIGHT.replace("replicas: 2", "replicas: $NUM_WORKERS").replace(
        "slotsPerWorker: 8", "slotsPerWorker: ${GPUS}"
    )
    text = text.replace('-np, "16"', '-np, "${TOTAL}"').replace("nvidia.com/gpu: 8", "nvidia.com/gpu: $GPUS")
    text = text.replace("name: job", "name: ${JOB}").replace("image: image:1", "image: <registry>/image:1")
    assert found(text) == []


@pytest.mark.parametrize("date", ["2026-11-21", "2026-11-21T10:00:00Z"])
def test_dates_are_text_as_in_kubernetes(date: str) -> None:
    assert found(RIGHT.replace("name: job", f"name: job\n  creationTimestamp: {date}")) == []


@pytest.mark.parametrize("text", ["a: {{ .Values.name }}\n", "a: 1\n b: [\n", "kind: List\nkind: List\nitems: []\n"])
def test_rejects_what_is_not_a_manifest(text: str) -> None:
    with pytest.raises(InputError):
        lint_text(text)


def test_a_text_may_be_long() -> None:
    text = "kind: List\nitems: [" + "{}, " * 30_000 + "]\n"
    assert lint_text(text) == []


@pytest.mark.parametrize("text", ["", "---\n---\n", "7", "- a", "# nothing\n", "kind: List\nitems: x\n"])
def test_a_text_without_objects_has_no_findings(text: str) -> None:
    assert lint_text(text) == []


def test_a_duplicate_key_is_found_with_its_line_and_hides_no_other_mistake() -> None:
    text = RIGHT.replace("      replicas: 2\n", "      replicas: 4\n      replicas: 2\n")
    text = text.replace("slotsPerWorker: 8", "slotsPerWorker: 4")
    ((finding, line), *others) = reversed(lint_text(text))
    assert (str(finding), line) == (
        f"error: spec.mpiReplicaSpecs.Worker.replicas: is given again: line {line - 1} has the same key; "
        "keep one of them [duplicate-key]",
        line_of(text, "replicas: 2"),
    )
    assert {other.rule for other, _ in others} == {"np-exceeds-slots"}


def test_what_is_beside_a_duplicate_key_is_not_judged() -> None:
    text = RIGHT.replace(
        "                limits: *amounts\n", "                limits: *amounts\n                limits: {}\n"
    )
    assert found(text) == [(line_of(text, "limits: {}"), "duplicate-key")]


@pytest.mark.parametrize("second", ["kind: MPIJob", "metadata: {name: a}"])
def test_a_duplicate_key_with_the_same_value_hides_nothing(second: str) -> None:
    wrong = RIGHT.replace("slotsPerWorker: 8", "slotsPerWorker: 4").replace(
        "metadata:\n  name: job", "metadata: {name: a}"
    )
    text = wrong.replace("kind: MPIJob\n", f"{second}\nkind: MPIJob\n")
    rules = {rule for _, rule in found(text)}
    assert rules == {"duplicate-key", *(rule for _, rule in found(wrong))} > {"duplicate-key"}


def test_what_is_not_judged_is_never_right() -> None:
    comment = "# trainctl: ignore[duplicate-key] the first is right"
    text = RIGHT.replace("kind: MPIJob\n", f"kind: Job\nkind: MPIJob {comment}\n")
    assert [rule for _, rule in found(text)] == ["duplicate-key"]
    ((finding, _),) = lint_read(read_documents(text, tolerant=True), rules={"np-exceeds-slots"})
    assert (finding.rule, finding.level) == ("duplicate-key", "error")


def test_duplicate_keys_of_any_kind_of_document_are_found() -> None:
    assert found("kind: ConfigMap\ndata:\n  a: x\n  a: y\n---\nkind: List\nitems:\n  - {a: 1, a: 2}\n") == [
        (4, "duplicate-key"),
        (8, "duplicate-key"),
    ]


def test_a_key_that_is_no_name_is_found() -> None:
    ((finding, line),) = lint_text("kind: ConfigMap\ndata:\n  ? [a]\n  : b\n")
    assert (finding.where, finding.problem, line) == ("data", "has the key [a], which is no name", 2)


def test_an_old_version_of_the_api_gives_one_finding() -> None:
    old = changed({"apiVersion": "kubeflow.org/v1", "spec runPolicy": GONE, "spec cleanPodPolicy": "Running"})
    (finding,) = lint_manifest(old)
    assert str(finding) == (
        "error: apiVersion: is 'kubeflow.org/v1', which the MPI operator v2 does not read; write "
        "kubeflow.org/v2beta1 and that "
        "version's fields: move spec.cleanPodPolicy to spec.runPolicy.cleanPodPolicy [api-version]"
    )


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"spec runPolicy": GONE, "spec cleanPodPolicy": "Running"}, ["unknown-field"]),
        (
            {"spec slotsPerWorker": GONE, "spec runPolicy slotsPerWorker": 4},
            ["np-exceeds-slots", "unknown-field"],
        ),
        ({"WORKER-POD tolerations": {"operator": "Exists", "value": "x"}}, ["pod-template-fields"]),
        ({"spec slotsPerWorker": "4"}, ["mpi-job-fields"]),
        ({"WORKER-POD volumes": {"name": "shm", "emptyDir": {"medium": "Memory"}}}, ["pod-template-fields"]),
        ({"LAUNCHER-POD restartPolicy": 5}, ["pod-template-fields"]),
        ({"LAUNCHER-POD restartPolicy": "Onfailure"}, ["unknown-word"]),
        ({"WORKER-CONTAINER readinessProbe tcpSocket port": "ssh "}, ["names"]),
        ({"WORKER-CONTAINER readinessProbe": {"port": 22}}, ["unknown-field"]),
        ({"spec runPolicy cleanPodPolicy": True}, ["mpi-job-fields"]),
    ],
)
def test_a_field_in_the_wrong_place_or_of_the_wrong_type_is_one_mistake(
    changes: dict[str, Any], rules: list[str]
) -> None:
    assert sorted(finding.rule for finding in lint_manifest(changed(changes))) == sorted(rules)


def test_a_finding_in_a_misplaced_field_has_the_place_where_it_is_written() -> None:
    found = lint_manifest(changed({"spec slotsPerWorker": GONE, "spec runPolicy slotsPerWorker": 0}))
    assert [one.where for one in found if one.rule == "slots-per-worker"] == ["spec.runPolicy.slotsPerWorker"]


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        (
            "MPIjob",
            "kubeflow.org/v2beta1",
            "kind: is 'MPIjob', which kubeflow.org/v2beta1 does not have; did you mean MPIJob?",
        ),
        (
            "PytorchJob",
            "kubeflow.org/v1",
            "kind: is 'PytorchJob', which kubeflow.org/v1 does not have; did you mean PyTorchJob?",
        ),
        ("Job", "apps/v1", "apiVersion: is 'apps/v1', which has no Job; write batch/v1"),
        ("StorageClass", "v1", "apiVersion: is 'v1', which has no StorageClass; write storage.k8s.io/v1"),
    ],
)
def test_a_kind_that_its_api_does_not_have_is_found(kind: str, version: str, message: str) -> None:
    found = [str(finding) for finding, _ in lint_text(f"apiVersion: {version}\nkind: {kind}\n")]
    assert f"error: {message} [kind-of-api]" in found


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("Job", "batch.volcano.sh/v1alpha1"),
        ("CronJob", "batch/v1"),
        ("JobList", "batch/v1"),
        ("ClusterTrainingRuntimeList", "trainer.kubeflow.org/v1alpha1"),
        ("XGBoostJob", "kubeflow.org/v1"),
        ("MPIJob", "kubeflow.org/v1"),
        ("Deployment", "apps/v1"),
        ("ConfigMap", "v1"),
    ],
)
def test_another_kind_of_an_api_is_right(kind: str, version: str) -> None:
    found = lint_text(f"apiVersion: {version}\nkind: {kind}\n")
    assert "kind-of-api" not in [finding.rule for finding, _ in found]
