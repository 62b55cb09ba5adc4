"""The newest release of the AMI: looked up once by `cdk`, and then that of `cdk.context.json`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions, cx_api

from app import build
from tests.constructs.site import Site
from training_cluster import ClusterConfig, GpuNodeGroup
from training_workloads import InputError

PARAMETERS = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64"
PLACE = f"account=111122223333:parameterName={PARAMETERS}"
GPU = f"ssm:{PLACE}/nvidia/recommended/release_version:region=us-west-2"
SYSTEM = f"ssm:{PLACE}/standard/recommended/release_version:region=us-west-2"
NOT_LOOKED_UP = "ami_release is 'latest', which is not looked up, because"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `cdk` gives an app of the credentials."""
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "111122223333")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-west-2")


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A synthesis without `cdk`, or without an account."""
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    monkeypatch.delenv("CDK_DEFAULT_REGION", raising=False)


def synthesized(context: Mapping[str, Any] | None = None, **values: Any) -> cx_api.CloudAssembly:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}, "other": {"instance_type": "g5.xlarge"}}
    app = cdk.App(context={"aws:cdk:disable-asset-staging": True, **(context or {})})
    return build(ClusterConfig(**{"node_groups": groups, **values}), app).synth()


def releases(assembly: cx_api.CloudAssembly) -> dict[str, Any]:
    """Return the release of each node group by the type of its AMI."""
    resources = assembly.get_stack_by_name("TrainingClusterStack").template["Resources"].values()
    groups = [each["Properties"] for each in resources if each["Type"] == "AWS::EKS::Nodegroup"]
    return {each["AmiType"]: each.get("ReleaseVersion") for each in groups}


def missing(assembly: cx_api.CloudAssembly) -> list[Any]:
    """Return the values that `cdk` has to look up before it synthesizes again; jsii gives no access to them."""
    manifest = json.loads((Path(assembly.directory) / "manifest.json").read_text(encoding="utf-8"))
    return list(manifest.get("missing", ()))


def notes(assembly: cx_api.CloudAssembly) -> list[str]:
    messages = assembly.get_stack_by_name("TrainingClusterStack").messages
    return [str(each.entry.data) for each in messages if NOT_LOOKED_UP in str(each.entry.data)]


@pytest.mark.usefixtures("credentials")
def test_cdk_is_asked_to_look_up_what_the_context_lacks() -> None:
    assembly = synthesized()
    asked = {each["key"]: each for each in missing(assembly)}
    assert sorted(asked) == [GPU, SYSTEM]
    assert asked[GPU]["provider"] == "ssm"
    query = asked[GPU]["props"]
    role = query.pop("lookupRoleArn")
    assert role.startswith("arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-hnb659fds-lookup-role-")
    assert query == {
        "account": "111122223333",
        "region": "us-west-2",
        "parameterName": f"{PARAMETERS}/nvidia/recommended/release_version",
    }
    assert releases(assembly) == {"AL2023_x86_64_NVIDIA": None, "AL2023_x86_64_STANDARD": None}
    assert notes(assembly) == []


@pytest.mark.usefixtures("credentials")
def test_the_release_of_the_context_stays() -> None:
    assembly = synthesized({GPU: "1.35.3-20261112", SYSTEM: "1.35.3-20261105"})
    assert missing(assembly) == []
    assert releases(assembly) == {
        "AL2023_x86_64_NVIDIA": "1.35.3-20261112",
        "AL2023_x86_64_STANDARD": "1.35.3-20261105",
    }


@pytest.mark.usefixtures("credentials")
def test_a_named_release_is_not_looked_up() -> None:
    groups = {"gpu": {"instance_type": "p4d.24xlarge", "ami_release": "1.35.0-20260917"}}
    assembly = synthesized(node_groups=groups, system_nodes={"ami_release": "1.35.1-20260917"})
    assert missing(assembly) == []
    assert releases(assembly) == {
        "AL2023_x86_64_NVIDIA": "1.35.0-20260917",
        "AL2023_x86_64_STANDARD": "1.35.1-20260917",
    }


@pytest.mark.usefixtures("no_credentials")
def test_a_synthesis_without_an_account_says_once_that_eks_chooses() -> None:
    assembly = synthesized()
    assert missing(assembly) == []
    assert releases(assembly) == {"AL2023_x86_64_NVIDIA": None, "AL2023_x86_64_STANDARD": None}
    (note,) = notes(assembly)
    assert note.startswith(f"{NOT_LOOKED_UP} this synthesis knows no account or no region: EKS takes the newest AMI")


@pytest.mark.usefixtures("credentials")
def test_a_look_up_that_failed_is_one_note() -> None:
    error = {"$providerError": "SSM parameter not available", "$dontSaveContext": True}
    assembly = synthesized({GPU: error, SYSTEM: error})
    (note,) = notes(assembly)
    assert note.startswith(f"{NOT_LOOKED_UP} 'cdk' could not: SSM parameter not available: EKS takes")


@pytest.mark.usefixtures("credentials")
def test_nodes_of_an_unknown_kubernetes_release_are_not_looked_up(site: Site) -> None:
    group = GpuNodeGroup(site.stack, "gpu", cluster=site.cluster, instance_type="g5.xlarge")
    assert group.ami_release is None
    (warning,) = assertions.Annotations.from_stack(site.stack).find_warning("*", assertions.Match.any_value())
    assert f"{NOT_LOOKED_UP} the release of Kubernetes is not known" in str(warning.entry.data)


@pytest.mark.usefixtures("credentials")
def test_a_looked_up_release_with_a_known_fault_is_rejected() -> None:
    with pytest.raises(InputError) as caught:
        synthesized({GPU: "1.35.4-20261003", SYSTEM: "1.35.3-20261112"})
    assert str(caught.value) == (
        "'ami_release' is 'latest', 1.35.4-20261003 in cdk.context.json, but it panics while the kernel reclaims "
        "memory, and nodes restart (kernel 6.12.110, amazon-eks-ami#2845); give a release of 20261012 or later, or "
        f"'latest'; 'latest' looks up again after: cdk context --reset '{GPU}'"
    )
    with pytest.raises(InputError, match=r"1\.35\.4-20260930 in cdk\.context\.json"):
        synthesized({GPU: "1.35.3-20261112", SYSTEM: "1.35.4-20260930"})
