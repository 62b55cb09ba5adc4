"""The example with the file systems in a separate stack."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, cx_api

from training_cluster.config import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig


@pytest.fixture(scope="module")
def assembly(root: Path) -> cx_api.CloudAssembly:
    app: App = runpy.run_path(str(root / "examples/shared_storage/app.py"))["app"]
    return app.synth()


def kinds(assembly: cx_api.CloudAssembly, stack: str) -> list[str]:
    resources: dict[str, Any] = assembly.get_stack_by_name(stack).template["Resources"]
    return [resource["Type"] for resource in resources.values()]


def test_the_storage_does_not_wait_for_the_cluster(assembly: cx_api.CloudAssembly) -> None:
    def below(stack: str) -> set[str]:
        return {each.id for each in assembly.get_stack_by_name(stack).dependencies if "assets" not in each.id}

    assert below("SharedStorage") == set()
    assert below("Training") == {"SharedStorage"}


def test_destroying_the_cluster_deletes_no_file(assembly: cx_api.CloudAssembly) -> None:
    storage, training = kinds(assembly, "SharedStorage"), kinds(assembly, "Training")
    for kind in ("AWS::FSx::FileSystem", "AWS::EFS::FileSystem", "AWS::S3::Bucket", "AWS::EC2::VPC", "AWS::KMS::Key"):
        assert kind in storage
        assert kind not in training
    assert "AWS::EKS::Cluster" in training


def test_the_outputs_are_all_that_a_configuration_names(assembly: cx_api.CloudAssembly, root: Path) -> None:
    outputs = assembly.get_stack_by_name("SharedStorage").template["Outputs"]
    readme = (root / "examples/shared_storage/README.md").read_text()
    # The others are CDK's, for the stack of the cluster.
    named = {name for name in outputs if not name.startswith("Exports")}
    assert named == set(re.findall(r"`((?:[A-Z][a-z]+){2,})`(?=[^\n]*\|[^\n]*\|)", readme))
    sections = (ExistingVpcConfig, ExistingLustreConfig, ExistingEfsConfig)
    for key in ("availability_zones", *(key for section in sections for key in section.model_fields)):
        assert re.search(rf"[`.]{key}`", readme), key
    assert outputs["LustreCapacityGib"]["Value"] == "2400"
