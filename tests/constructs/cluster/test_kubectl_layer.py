import tomllib
from pathlib import Path

import aws_cdk as cdk
import pytest

from training_cluster.cluster.kubectl_layer import kubectl_layer
from training_workloads import InputError
from training_workloads.catalog.versions import KUBERNETES_VERSIONS


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_every_release_has_its_kubectl(version: str, root: Path) -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    assert kubectl_layer(stack, "Layer", kubernetes_version=version).node.path == "Stack/Layer"
    dependencies = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    package = f"aws-cdk.lambda-layer-kubectl-v{version.partition('.')[2]}>"
    assert any(dependency.startswith(package) for dependency in dependencies)


def test_rejects_a_release_without_kubectl() -> None:
    with pytest.raises(InputError, match=r"^'kubernetes_version' is '1\.99'; give one of 1\.34, 1\.35$"):
        kubectl_layer(cdk.Stack(), "Layer", kubernetes_version="1.99")
