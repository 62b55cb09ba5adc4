"""No text from outside controls the terminal of who runs a command."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program, cluster, kubeconfig, mpi_job, pod, program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster
from training_workloads.cli.cluster_output import note, print_table
from training_workloads.terminal import print_raw, printable, say

__all__ = ["cluster", "kubeconfig", "mpi_job", "pod", "program"]

#: Clears the screen, sets the title, deletes the line, and shows what follows from right to left.
ATTACK = "\x1b[2J\x1b]0;owned\x07\r\u202egnp.exe\x9b31m"
ESCAPED = r"\x1b[2J\x1b]0;owned\x07\r\u202egnp.exe\x9b31m"

MakeObject = Callable[..., dict[str, Any]]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ATTACK, ESCAPED),
        ("first\nhint: run this", r"first\nhint: run this"),
        ("\u2066a\u2069\u200b", r"\u2066a\u2069\u200b"),
        ("Größe 10 %, 模型 ✓", "Größe 10 %, 模型 ✓"),
        ("", ""),
        (r"a\b", r"a\b"),
    ],
)
def test_controls_are_escaped_and_letters_are_not(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_each_line_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say("one", f"two {ATTACK}")
    say("three\nfour", error=True)
    assert capsys.readouterr() == (f"one\ntwo {ESCAPED}\n", "three\\nfour\n")


def test_a_log_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_raw("\x1b[31mred\x1b[0m")
    print_raw("\x1b[31mred\x1b[0m", error=True)
    assert capsys.readouterr() == ("\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n")


def test_tables_and_notes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME"], [[ATTACK]])
    note(ATTACK)
    assert capsys.readouterr() == (f"NAME{' ' * (len(ESCAPED) - 4)}\n{ESCAPED}\n", f"note: {ESCAPED}\n")


def test_an_answer_of_the_api_server_is_escaped(program: Program, cluster: FakeCluster) -> None:
    cluster.failures.append(Failure(422, "/mpijobs", message=f"webhook: {ATTACK}"))
    shown = program("status", "digits").err
    assert "\x1b" not in shown
    # Spaces are joined, so that a message with lines is readable.
    assert rf"webhook: {ESCAPED}".replace(r"\r", " ") in shown


def test_a_pods_and_a_jobs_reason_is_escaped(
    program: Program, cluster: FakeCluster, mpi_job: MakeObject, pod: MakeObject
) -> None:
    failed = mpi_job("digits", "Failed")
    failed["status"]["conditions"][-1]["message"] = f"operator {ATTACK}"
    cluster.add(failed)
    ended = {"exitCode": 1, "reason": "Error", "message": f"pod {ATTACK}"}
    states = [{"name": "launcher", "state": {"terminated": ended}, "ready": False, "restartCount": 0}]
    cluster.add(pod("digits-launcher-a", "launcher", phase="Failed", containerStatuses=states))
    shown = program("status", "digits").out
    assert shown.isascii()
    assert shown.replace("\n", "").isprintable()
    assert shown.count(r"\x1b[2J") == 2


def test_no_text_of_the_cluster_controls_the_terminal(
    program: Program, cluster: FakeCluster, mpi_job: MakeObject, pod: MakeObject
) -> None:
    made = mpi_job("digits", "Running")
    made["status"]["conditions"][0] |= {"reason": ATTACK, "message": ATTACK}
    cluster.add(made, labels={"kueue.x-k8s.io/queue-name": ATTACK}, annotations={ATTACK: ATTACK})
    waits = {"name": ATTACK, "restartCount": 1, "state": {"waiting": {"reason": ATTACK, "message": ATTACK}}}
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": ATTACK}
    statuses: dict[str, dict[str, Any]] = {
        "launcher": {"containerStatuses": [waits]},
        "worker": {"conditions": [no_node]},
    }
    for role, status in statuses.items():
        texts = {"phase": "Pending", "reason": ATTACK, "message": ATTACK}
        cluster.add(pod(f"digits-{role}-0", role, **texts, **status))["spec"]["nodeName"] = ATTACK
    for command in (["status", "digits"], ["status"], ["cancel", "digits"]):
        result = program(*command)
        assert (result.out + result.err).replace("\n", "").isprintable()


def test_the_names_in_a_kubeconfig_are_escaped(program: Program, kubeconfig: Path) -> None:
    text = 'apiVersion: v1\nkind: Config\ncurrent-context: "a\\e[2J"\ncontexts: []\nclusters: []\nusers: []\n'
    kubeconfig.write_text(text)
    shown = program("status", "digits").err
    assert "\x1b" not in shown
    assert r"\x1b[2J" in shown


@pytest.mark.parametrize("form", ["text", "github"])
def test_the_name_of_a_manifest_is_escaped(
    form: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("\x1b[2J\u202e.yaml").write_text(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: A}\nspec: {}\n"
    )
    shown = program("lint", ".", f"--format={form}").out
    assert "\x1b" not in shown
    assert r"\x1b[2J\u202e.yaml" in shown


def test_every_command_prints_through_the_module() -> None:
    files = [
        *(ROOT / "workloads/training_workloads/cli").glob("*.py"),
        *(ROOT / "constructs/training_cluster").rglob("*.py"),
        ROOT / "workloads/training_workloads/run_local/runner.py",
        ROOT / "workloads/training_workloads/app_errors.py",
    ]
    calls = [
        (path.name, node.lineno)
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id == "print"
    ]
    assert calls == []


def test_what_is_printed_as_it_is_are_documents_and_logs() -> None:
    raw = {
        ast.unparse(node.args[0]).partition("(")[0]
        for path in (ROOT / "workloads/training_workloads/cli").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print_raw"
    }
    # The script of completion, JSON, and lines of logs.
    assert raw == {"kind", "json.dumps", "rank_line", "line"}
