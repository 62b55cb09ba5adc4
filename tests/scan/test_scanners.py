"""cfn-lint and checkov report mistakes. Skipped without their environment (`make setup-scan`)."""

import json
from pathlib import Path

import pytest

from scan.scanners import cfn_lint, checkov

BUCKET = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketNam": "typo"}}}}


@pytest.fixture
def programs(root: Path) -> Path:
    folder = root / ".venv-scan/bin"
    if not (folder / "checkov").exists():
        pytest.skip("run make setup-scan")
    return folder


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "bad" / "Stack.template.json"
    path.parent.mkdir()
    path.write_text(json.dumps(BUCKET))
    return path


def test_cfn_lint_finds_an_unknown_property(programs: Path, template: Path) -> None:
    (finding,) = cfn_lint(programs, [template])
    assert finding.rule == "E3002"
    assert finding.resource == "Resources/Bucket/Properties/BucketNam"


def test_checkov_finds_an_open_bucket(programs: Path, template: Path) -> None:
    rules = {finding.rule for finding in checkov(programs, template.parent, "cloudformation")}
    assert {"CKV_AWS_18", "CKV_AWS_53"} <= rules


def test_rejects_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="checkov could not read"):
        checkov(programs, tmp_path, "kubernetes")
