"""What needs a separate process: Ctrl-C, and pipes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, Log

MpiJob = Callable[..., dict[str, Any]]
MakePod = Callable[..., dict[str, Any]]
PROGRAM = [sys.executable, "-m", "training_workloads"]


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*PROGRAM, *arguments], **pipes)


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("nothing happened in 30 seconds")


@pytest.mark.usefixtures("kubeconfig")
def test_ctrl_c_while_following_says_what_still_runs(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    silence = threading.Event()
    cluster.logs["digits-launcher-a"] = Log([("2026-11-21T10:00:00.000000000Z", "epoch 1")], open_for=silence)
    process = start("logs", "-f", "digits", "-n", "team")
    assert process.stdout is not None
    # Through a pipe each line comes at once.
    assert process.stdout.readline() == "epoch 1\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    silence.set()
    assert (process.returncode, out) == (130, "")
    assert err == ("interrupted\njob 'digits' still runs on the cluster; 'trainctl cancel digits -n team' ends it\n")


def test_ctrl_c_while_submitting(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    pod = "{restartPolicy: Never, containers: [{name: a, image: 'image:1'}]}"
    spec = f"spec: {{template: {{spec: {pod}}}}}"
    documents = [f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, {spec}}}" for name in "abc"]
    path.write_text("\n---\n".join(documents))
    # Three dry runs, the first job, and then the cluster hangs.
    cluster.failures.append(Failure("hang", "/jobs", "POST", skipped=4))
    process = start("submit", str(path))
    wait_for(lambda: sum(request.startswith("POST") and "/jobs" in request for request in cluster.requests) == 5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "created Job 'a' in namespace 'team'\n")
    assert err == (
        "interrupted\n"
        "on the cluster already: Job 'a' in namespace 'team'\n"
        "perhaps there too: Job 'b' in namespace 'team'\n"
    )


def test_a_closed_pipe_ends_the_command(cluster: FakeCluster, mpi_job: MpiJob, pod: MakePod) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(pod("digits-launcher-a", "launcher"))
    many = [("2026-11-21T10:00:00.000000000Z", "x" * 1000)] * 500
    cluster.logs["digits-launcher-a"] = Log(many)
    process = start("logs", "digits")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=20) == 1


def test_a_terminal_shows_progress_and_ctrl_c_restores_it(cluster: FakeCluster, mpi_job: MpiJob) -> None:
    cluster.add(mpi_job("digits", "Running"))
    master, terminal = os.openpty()
    process = start("wait", "digits", stderr=terminal, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(terminal)
    shown = b""
    while b"Running, 0 of 2 workers ready" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    # Linux reports an error when the other side is closed.
    with suppress(OSError):
        while piece := os.read(master, 4096):
            shown += piece
    os.close(master)
    out, _ = process.communicate(timeout=20)
    assert out == ""
    assert process.returncode == 130
    # The cursor is hidden during the progress, and shown after it.
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") > 0
    assert b"'trainctl cancel digits' ends it" in shown.partition(b"\x1b[?25h")[2]


def test_the_program_starts_without_what_its_commands_import() -> None:
    slow = "{'cdk8s', 'jsii', 'jsonschema', 'kubernetes', 'psutil', 'rich', 'urllib3', 'yaml'}"
    program = f"import sys, training_workloads.cli; sys.exit(str({slow} & sys.modules.keys() or 0))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stderr == "0\n"


def test_completes_the_names_of_jobs(
    cluster: FakeCluster, mpi_job: MpiJob, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.add(mpi_job("digits", "Running"))
    cluster.add(mpi_job("resnet50", "Running"))
    question = {"_TRAINCTL_COMPLETE": "bash_complete", "COMP_WORDS": "trainctl logs -n team ", "COMP_CWORD": "4"}
    for name, value in question.items():
        monkeypatch.setenv(name, value)
    assert program().out.split() == ["plain,digits", "plain,resnet50"]
    monkeypatch.setenv("COMP_WORDS", "trainctl cancel digits r")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert program().out.split() == ["plain,resnet50"]


@pytest.mark.usefixtures("kubeconfig")
def test_completes_nothing_without_a_cluster(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"_TRAINCTL_COMPLETE": "bash_complete", "COMP_WORDS": "trainctl logs ", "COMP_CWORD": "2"}
    for name, value in question.items():
        monkeypatch.setenv(name, value)
    result = program()
    assert (result.code, result.out, result.err) == (0, "\n", "")
