"""The CDK app as its users run it: `cdk synth`, `python app.py`, and mistakes in its options."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest

from training_workloads import InputError
from training_workloads.app_errors import errors_as_lines

# No credentials, no network: every request to AWS fails at once.
OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "HTTPS_PROXY": "http://127.0.0.1:9",
}


def run_cdk(*arguments: str, root: Path, home: Path) -> subprocess.CompletedProcess[str]:
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
    result = run_cdk("synth", "--quiet", f"--output={tmp_path / 'out'}", root=root, home=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "end-of-life" not in result.stdout + result.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest.get("missing", []) == []
    stacks = [name for name, part in manifest["artifacts"].items() if part["type"] == "aws:cloudformation:stack"]
    assert sorted(stacks) == ["TrainingClusterStack", "TrainingDataStack"]


def test_the_cli_sends_no_telemetry(root: Path, tmp_path: Path) -> None:
    result = run_cdk("cli-telemetry", "--status", root=root, home=tmp_path)
    # In CI the CLI prints on standard output.
    assert (result.stdout + result.stderr).startswith("CLI Telemetry is disabled.")


def python(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an app by Python, without `cdk`."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("app", ["app.py", "workloads/training_workloads/project/app.py"])
def test_one_option_protects_the_cluster_and_both_stacks(app: str, root: Path, tmp_path: Path) -> None:
    config = tmp_path / "cluster.yaml"
    config.write_text("node_groups: {gpu: {instance_type: g6.xlarge}}\ndeletion_protection: true\n")
    context = json.dumps({"config": str(config)})
    result = python(app, folder=root, CDK_CONTEXT_JSON=context, CDK_OUTDIR=str(tmp_path / "out"))
    assert result.returncode == 0, result.stderr
    artifacts = json.loads((tmp_path / "out/manifest.json").read_text())["artifacts"]
    stacks = [each["properties"] for each in artifacts.values() if each["type"] == "aws:cloudformation:stack"]
    assert [each.get("terminationProtection") for each in stacks] == [True, True]
    template = json.loads((tmp_path / "out/TrainingClusterStack.template.json").read_text())
    (cluster,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::EKS::Cluster"]
    assert cluster["Properties"]["DeletionProtection"] is True


def test_each_mistake_is_a_line_in_any_folder(root: Path, tmp_path: Path) -> None:
    context = json.dumps({"efs": "maybe", "instance": "p4d.24xlarge"})
    result = python(str(root / "app.py"), folder=tmp_path, CDK_CONTEXT_JSON=context)
    assert result.returncode == 1
    # cluster.yaml was found: only the options are a problem.
    first, second = result.stderr.splitlines()
    assert first == "error: -c efs: 'efs' is 'maybe'; give true or false"
    assert second.startswith("error: -c instance: 'instance' is 'p4d.24xlarge', but there is no such key; known")


@pytest.mark.parametrize(
    ("app", "package", "fix"),
    [
        ("app.py", "training_workloads", "run 'source .venv/bin/activate' first; 'make setup-cdk' creates .venv"),
        ("examples/existing_cluster/app.py", "training_workloads", "activate the environment that README.md creates"),
    ],
)
def test_a_python_without_the_packages_is_one_line(
    app: str, package: str, fix: str, root: Path, tmp_path: Path
) -> None:
    # -S: without site-packages.
    result = python("-S", str(root / app), folder=tmp_path, PYTHONPATH="")
    assert result.stderr == f"error: {sys.executable} has no package '{package}'; {fix}\n"


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    errors_as_lines()
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError) as raised:
        cdk.App(outdir=str(tmp_path / "file/out")).synth()
    sys.excepthook(raised.type, raised.value, raised.tb)
    assert re.fullmatch("error: ENOTDIR: not a directory.*\n", capsys.readouterr().err)


def test_the_second_app_says_what_is_missing_without_cdk(root: Path) -> None:
    stack = runpy.run_path(str(root / "examples/existing_cluster/app.py"))["GpuTrainingStack"]
    with pytest.raises(InputError) as caught:
        stack(cdk.App(), "GpuTraining")
    message = "'cluster_name' is missing; give a text in cdk.json, and start the app with 'cdk synth'"
    assert str(caught.value) == message


def test_ctrl_c_ends_an_app_without_a_traceback(root: Path, tmp_path: Path) -> None:
    # Python reports each import when it ends: the first of what `aws_cdk` needs begins its seconds.
    command = [sys.executable, "-X", "importtime", str(root / "app.py")]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert running.stderr
    assert any(line.endswith(" publication\n") for line in running.stderr), "aws_cdk was not imported"
    running.send_signal(signal.SIGINT)
    _, rest = running.communicate(timeout=30)
    assert running.returncode == -signal.SIGINT
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    "app", ["app.py", "examples/existing_cluster/app.py", "workloads/training_workloads/project/app.py"]
)
def test_each_app_reports_errors_as_lines_before_it_imports_the_cdk(app: str, root: Path) -> None:
    text = (root / app).read_text()
    assert text.index("\n    errors_as_lines()\n") < text.index("\nimport aws_cdk")
