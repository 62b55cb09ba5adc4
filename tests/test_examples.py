"""Every example runs, and the README shows it as it stands."""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_own_app_synthesizes_a_cluster_with_efa(root: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "CDK_OUTDIR": str(tmp_path)}
    subprocess.run([sys.executable, root / "examples/own_app.py"], cwd=tmp_path, env=environment, check=True)
    template = json.loads((tmp_path / "MyTraining.template.json").read_text())
    kinds = [resource["Type"] for resource in template["Resources"].values()]
    assert kinds.count("AWS::EKS::Nodegroup") == 2
    assert kinds.count("Custom::AWSCDK-EKS-HelmChart") == 2
    launch_templates = [r for r in template["Resources"].values() if r["Type"] == "AWS::EC2::LaunchTemplate"]
    (launch_template,) = launch_templates
    assert len(launch_template["Properties"]["LaunchTemplateData"]["NetworkInterfaces"]) == 4


def test_the_readme_shows_the_example(root: Path) -> None:
    assert (root / "examples/own_app.py").read_text() in (root / "README.md").read_text()
