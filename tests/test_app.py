"""The CDK app as its users run it: `cdk synth`, and mistakes in its options."""

import json
import os
import subprocess
from pathlib import Path

import pytest

# No credentials, no network: every request to AWS fails at once.
OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "CDK_DISABLE_CLI_TELEMETRY": "true",
}


def cdk(*arguments: str, root: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
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


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "node_groups.gpu.instance_type=p4.24xlarge",
            "error: -c node_groups.gpu.instance_type: 'node_groups.gpu.instance_type' is 'p4.24xlarge', but",
        ),
        ("instance=p3.16xlarge", "error: -c instance: 'instance' is 'p3.16xlarge', but there is no such key; known: a"),
        ("config=no.yaml", "error: 'config' is 'no.yaml', but it cannot be read"),
    ],
)
def test_a_mistake_is_a_line_without_a_traceback(setting: str, message: str, root: Path, tmp_path: Path) -> None:
    result = cdk("synth", "--context", setting, f"--output={tmp_path / 'out'}", root=root, home=tmp_path)
    assert result.returncode != 0
    assert message in result.stderr
    assert "Traceback" not in result.stdout + result.stderr


def test_each_mistake_is_a_line(root: Path, tmp_path: Path) -> None:
    options = ["--context", "efs=maybe", "--context", "nat=perhaps"]
    result = cdk("synth", *options, f"--output={tmp_path / 'out'}", root=root, home=tmp_path)
    assert "error: -c efs: 'efs' is 'maybe'; give true or false\nerror: -c nat: 'nat' is 'perhaps';" in result.stderr
