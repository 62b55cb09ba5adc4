"""cfn-lint and checkov find what is wrong; without their environment (`make setup-checks`) there is nothing to try."""

import json
from pathlib import Path

import pytest

from checks.scanners import cfn_lint, checkov

BUCKET = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketNam": "typo"}}}}


@pytest.fixture
def programs(root: Path) -> Path:
    folder = root / ".venv-checks/bin"
    if not (folder / "checkov").exists():
        pytest.skip("run make setup-checks")
    return folder


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "bad" / "Stack.template.json"
    path.parent.mkdir()
    path.write_text(json.dumps(BUCKET))
    return path


def test_a_property_that_is_none_is_found(programs: Path, template: Path) -> None:
    (finding,) = cfn_lint(programs, [template])
    assert finding.rule == "E3002"
    assert finding.resource == "Resources/Bucket/Properties/BucketNam"


def test_an_open_bucket_is_found(programs: Path, template: Path) -> None:
    rules = {finding.rule for finding in checkov(programs, template.parent, "cloudformation")}
    assert {"CKV_AWS_18", "CKV_AWS_53"} <= rules


def test_nothing_to_scan_is_an_error(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="checkov could not read"):
        checkov(programs, tmp_path, "kubernetes")
