import json

import pytest

from tests.workloads.lint.sample_job import JOB, changed
from training_workloads import InputError
from training_workloads.lint import lint_text

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
    text = f"# a comment\n{RIGHT}---\nkind: Service\n---\nkind: PersistentVolumeClaim\nspec: {{}}\n"
    assert found(text) == [(line_of(text, "spec: {}"), "claim-without-class")]


def test_items_of_a_list_have_their_lines() -> None:
    items = [changed({"WORKER restartPolicy": "Always"}), changed({}), {"kind": "PersistentVolumeClaim", "spec": {}}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1)
    lines = text.splitlines()
    assert [(lines[line - 1].strip().rstrip(","), rule) for line, rule in found(text)] == [
        ('"restartPolicy": "Always"', "restart-policy"),
        ('"spec": {}', "claim-without-class"),
    ]


def test_a_finding_within_an_alias_has_the_line_of_its_anchor() -> None:
    text = RIGHT.replace("memory: 900Gi", "memory: 8Gi")
    assert found(text) == [(line_of(text, "memory: 8Gi"), "efa-memory")]


def test_a_volume_and_its_claim_of_one_file_are_checked_together() -> None:
    spec = "spec: {storageClassName: a}"
    text = f"kind: PersistentVolumeClaim\n{spec}\n---\nkind: PersistentVolume\n{spec}\n"
    assert found(text) == [(2, "claim-without-volume-name")]


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


@pytest.mark.parametrize("text", ["a: {{ .Values.name }}\n", "a: 1\n b: [\n", "a: 1\na: 2\n"])
def test_rejects_what_is_not_a_manifest(text: str) -> None:
    with pytest.raises(InputError):
        lint_text(text)


def test_a_text_may_be_long() -> None:
    text = "kind: List\nitems: [" + "{}, " * 30_000 + "]\n"
    assert lint_text(text) == []


@pytest.mark.parametrize("text", ["", "---\n---\n", "7", "- a", "# nothing\n", "kind: List\nitems: x\n"])
def test_a_text_without_objects_has_no_findings(text: str) -> None:
    assert lint_text(text) == []
