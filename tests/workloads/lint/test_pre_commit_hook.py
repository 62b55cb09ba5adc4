"""The hook that other repositories use."""

import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from training_workloads.cli import program as trainctl

ROOT = Path(__file__).parents[3]
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def test_the_hook_runs_the_lint_over_the_files_of_a_commit(tmp_path: Path) -> None:
    program, *arguments = shlex.split(HOOK["entry"])
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert program in project["scripts"]
    assert HOOK["additional_dependencies"] == [".[cli]"]
    assert "cli" in project["optional-dependencies"]
    wrong, other = tmp_path / "pv.yaml", tmp_path / "other.yaml"
    wrong.write_text("kind: PersistentVolume\nspec: {persistentVolumeReclaimPolicy: Recycle, csi: {driver: other}}\n")
    other.write_text("a: 1\n")
    assert CliRunner().invoke(trainctl, [*arguments, str(other)]).exit_code == 0
    assert CliRunner().invoke(trainctl, [*arguments, str(other), str(wrong)]).exit_code == 1


def test_the_docs_name_the_hook() -> None:
    assert f"- id: {HOOK['id']}" in (ROOT / "docs/lint-in-ci.md").read_text()
