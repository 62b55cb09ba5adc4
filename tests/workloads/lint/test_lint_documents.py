import json
import re
import time

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
        "slotsPerWorker: 8", "slotsPerWorker: 4"
    )
    assert found(text) == [
        (line_of(text, "slotsPerWorker: 4"), "slots-differ-from-gpus"),
        (line_of(text, "command: [mpirun"), "np-exceeds-slots"),
        (line_of(text, "restartPolicy: Always"), "restart-policy"),
    ]


def test_what_is_missing_has_the_line_of_what_it_belongs_to() -> None:
    text = RIGHT.replace("    cleanPodPolicy: Running\n", "    backoffLimit: 3\n")
    assert found(text) == [(line_of(text, "runPolicy:"), "workers-outlive-job")]


def test_lines_count_over_all_documents() -> None:
    text = f"# a comment\n{RIGHT}---\nkind: Service\n---\nkind: PersistentVolumeClaim\nspec: {{}}\n"
    assert found(text) == [(line_of(text, "spec: {}"), "claim-without-class")]


def test_items_of_a_list_are_linted_where_they_stand() -> None:
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


def test_a_volume_and_its_claim_of_one_file_know_each_other() -> None:
    spec = "spec: {storageClassName: a}"
    text = f"kind: PersistentVolumeClaim\n{spec}\n---\nkind: PersistentVolume\n{spec}\n"
    assert found(text) == [(2, "claim-without-volume-name")]


def test_placeholders_of_envsubst_are_named() -> None:
    text = RIGHT.replace("replicas: 2", "replicas: $NUM_WORKERS").replace(
        "slotsPerWorker: 8", "slotsPerWorker: ${GPUS}"
    )
    text = text.replace('-np, "16"', '-np, "${TOTAL}"').replace("nvidia.com/gpu: 8", "nvidia.com/gpu: $GPUS")
    assert [rule for _, rule in found(text)] == ["mpi-job-fields", "mpi-job-fields", "quantity", "quantity"]
    assert "'${GPUS}'; give a whole number (fill the placeholder in first, such as with envsubst)" in str(
        lint_text(text)[0][0]
    )


@pytest.mark.parametrize("date", ["2026-11-21", "2026-11-21T10:00:00Z"])
def test_dates_are_text_as_in_kubernetes(date: str) -> None:
    assert found(RIGHT.replace("name: job", f"name: job\n  creationTimestamp: {date}")) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {{ .Values.name }}\n", "is a Helm template; lint what 'helm template' makes of it"),
        ("{{- if .Values.efa }}\na: 1\n{{- end }}\n", "is a Helm template; lint what 'helm template' makes of it"),
        ("a: 1\n b: [\n", "is not YAML: line 2: mapping values are not allowed here"),
        ("a: &a [*a]", "is not YAML: Circular reference detected"),
        ("a: !!int x", "is not YAML: "),
        ("a: !!bool x", "is not YAML: "),
        ("a: !!float ''", "is not YAML: "),
        ("a: !!timestamp x", "is not YAML: "),
        ("a: !secret x", "is not YAML: line 1: could not determine a constructor for the tag '!secret'"),
        ("[" * 1000, "is not YAML: "),
        ("a: \x00", "is not YAML: "),
    ],
)
def test_what_is_no_manifest_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        lint_text(text)


def bomb(levels: int, line: str) -> str:
    """Each level holds the one below it nine times."""
    lines = ["a0: &a0 {k: v}"]
    for level in range(levels):
        lines.append(f"a{level + 1}: &a{level + 1} " + line.format(", ".join([f"*a{level}"] * 9)))
    return "\n".join(lines)


@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}]}}", "{{x: [{}]}}"])
def test_aliases_that_multiply_are_refused_at_once(line: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError) as refused:
        lint_text(bomb(9, line))
    assert str(refused.value) == "has aliases that stand for more than 100000 values; write fewer of them"
    assert time.process_time() - start < 2


def test_a_text_may_be_long_and_have_some_aliases() -> None:
    assert lint_text(bomb(3, "[{}]")) == []
    text = "kind: List\nitems: [" + "{}, " * 30_000 + "]\n"
    assert lint_text(text) == []


@pytest.mark.parametrize("text", ["", "---\n---\n", "7", "- a", "# nothing\n", "kind: List\nitems: x\n"])
def test_a_text_without_objects_has_no_findings(text: str) -> None:
    assert lint_text(text) == []
