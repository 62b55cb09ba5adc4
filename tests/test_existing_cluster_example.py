"""The second app: imports the library from its built wheel and adds to an existing cluster."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def wheel_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of the wheel, without the checkout's own sources."""
    installed = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(installed)
    return installed


@pytest.fixture(scope="module")
def app_folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app outside the checkout."""
    return Path(shutil.copytree(root / "examples/existing_cluster", tmp_path_factory.mktemp("app") / "app"))


def environment(wheel_folder: Path, home: Path) -> dict[str, str]:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    return {**keep, "PYTHONPATH": str(wheel_folder), "CDK_HOME": str(home), "CDK_DISABLE_CLI_TELEMETRY": "true"}


@pytest.fixture(scope="module")
def template(wheel_folder: Path, app_folder: Path) -> dict[str, Any]:
    """The template of `cdk synth`."""
    done = subprocess.run(
        ["cdk", "synth", "--quiet"],
        cwd=app_folder,
        env=environment(wheel_folder, app_folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads((app_folder / "cdk.out/GpuTraining.template.json").read_text()))


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def test_the_library_comes_from_the_wheel(wheel_folder: Path, app_folder: Path) -> None:
    names = ("training_cluster", "training_workloads")
    program = f"from importlib.util import find_spec; print(*(find_spec(name).origin for name in {names}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=app_folder,
        env=environment(wheel_folder, app_folder),
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(path.startswith(str(wheel_folder)) for path in done.stdout.split())


def test_defines_nothing_that_exists(template: dict[str, Any]) -> None:
    for kind in ("AWS::EKS::Cluster", "AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::S3::Bucket"):
        assert of_type(template, kind) == [], kind


def test_nodes_and_lustre_join_the_existing_cluster(template: dict[str, Any]) -> None:
    (group,) = of_type(template, "AWS::EKS::Nodegroup")
    (file_system,) = of_type(template, "AWS::FSx::FileSystem")
    assert group["Properties"]["ClusterName"] == "research"
    assert group["Properties"]["Subnets"] == file_system["Properties"]["SubnetIds"] == ["subnet-0123456789abcdef0"]
    (launch_template,) = of_type(template, "AWS::EC2::LaunchTemplate")
    interfaces = launch_template["Properties"]["LaunchTemplateData"]["NetworkInterfaces"]
    assert len(interfaces) == 5
    assert all("sg-0123456789abcdef0" in interface["Groups"] for interface in interfaces)


def test_plugins_autoscaler_operator_and_volume_are_installed(template: dict[str, Any]) -> None:
    charts = {chart["Properties"]["Chart"] for chart in of_type(template, "Custom::AWSCDK-EKS-HelmChart")}
    assert charts == {"nvidia-device-plugin", "aws-efa-k8s-device-plugin", "cluster-autoscaler"}
    manifests = json.dumps(of_type(template, "Custom::AWSCDK-EKS-KubernetesResource"))
    for kind in ("CustomResourceDefinition", "Deployment", "PersistentVolumeClaim"):
        assert kind in manifests
