"""The CDK app as its users run it: `cdk synth`, `python app.py`, and mistakes in its options."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# No credentials, no network: every request to AWS fails at once.
OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "HTTPS_PROXY": "http://127.0.0.1:9",
}


def cdk(*arguments: str, root: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_"))}
    return subprocess.run(
        ["cdk", *arguments],
        cwd=root,
        env={**environment, **OFFLINE, "CDK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_synth_needs_neither_credentials_nor_network(root: Path, tmp_path: Path) -> None:
    result = cdk("synth", "--quiet", f"--output={tmp_path / 'out'}", root=root, home=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "end-of-life" not in result.stdout + result.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest.get("missing", []) == []
    stacks = [name for name, part in manifest["artifacts"].items() if part["type"] == "aws:cloudformation:stack"]
    assert sorted(stacks) == ["TrainingClusterStack", "TrainingDataStack"]


def test_each_mistake_is_a_line(root: Path, tmp_path: Path) -> None:
    options = ["--context", "efs=maybe", "--context", "nat=perhaps"]
    result = cdk("synth", *options, f"--output={tmp_path / 'out'}", root=root, home=tmp_path)
    assert "error: -c efs: 'efs' is 'maybe'; give true or false\nerror: -c nat: 'nat' is 'perhaps';" in result.stderr


def test_the_cli_sends_no_telemetry(root: Path, tmp_path: Path) -> None:
    assert cdk("cli-telemetry", "--status", root=root, home=tmp_path).stderr.startswith("CLI Telemetry is disabled.")


def python(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an app by Python, without `cdk`."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "node_groups.gpu.instance_type",
            "p4.24xlarge",
            "error: -c node_groups.gpu.instance_type: 'node_groups.gpu.instance_type' is 'p4.24xlarge', but",
        ),
        ("instance", "p3.16xlarge", "error: -c instance: 'instance' is 'p3.16xlarge', but there is no such key; known"),
        ("config", "no.yaml", "error: 'config' is 'no.yaml', but it cannot be read"),
    ],
)
def test_a_mistake_is_a_line_in_any_folder(key: str, value: str, message: str, root: Path, tmp_path: Path) -> None:
    result = python(str(root / "app.py"), folder=tmp_path, CDK_CONTEXT_JSON=json.dumps({key: value}))
    assert result.returncode == 1
    # cluster.yaml was found: only the option is a problem.
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("app", "package", "fix"),
    [
        ("app.py", "training_workloads", "run 'source .venv/bin/activate' first; 'make setup-cdk' creates .venv"),
        ("examples/existing_cluster/app.py", "training_cluster", "activate the environment that README.md creates"),
    ],
)
def test_a_python_without_the_packages_is_one_line(
    app: str, package: str, fix: str, root: Path, tmp_path: Path
) -> None:
    # -S: without site-packages.
    result = python("-S", str(root / app), folder=tmp_path, PYTHONPATH="")
    assert result.stderr == f"error: {sys.executable} has no package '{package}'; {fix}\n"


def test_a_folder_that_cannot_be_written_is_one_line(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = python(str(root / "app.py"), folder=tmp_path, CDK_OUTDIR=str(tmp_path / "file/out"))
    assert result.returncode == 1
    assert result.stderr.startswith("error: ENOTDIR: not a directory")
    assert result.stderr.count("\n") == 1


def test_python_runs_the_second_app_without_a_traceback(root: Path, tmp_path: Path) -> None:
    result = python(str(root / "examples/existing_cluster/app.py"), folder=tmp_path)
    message = "error: 'cluster_name' is missing; give a text in cdk.json, and start the app with 'cdk synth'\n"
    assert (result.returncode, result.stderr) == (1, message)


@pytest.mark.parametrize("app", ["app.py", "examples/existing_cluster/app.py"])
def test_ctrl_c_ends_an_app_without_a_traceback(app: str, root: Path, tmp_path: Path) -> None:
    running = subprocess.Popen([sys.executable, str(root / app)], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    # While it imports its packages.
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=10)
    assert (running.returncode, errors) == (-signal.SIGINT, "")
