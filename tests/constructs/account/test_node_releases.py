"""The release of the AMI of each node group, in `trainctl cluster status`."""

import json
from typing import Any

from tests.constructs.account.conftest import Command, Kubernetes
from tests.constructs.account.stubbed_account import StubbedAccount

GPU, SYSTEM = "AL2023_x86_64_NVIDIA", "AL2023_x86_64_STANDARD"
PARAMETERS = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64"


def group(ami_type: str, release: str | None, name: str | None = None) -> dict[str, Any]:
    """Return a node group of a template."""
    given = {"AmiType": ami_type, "Version": "1.35", "LaunchTemplate": {"Id": {"Ref": "Nodes"}}}
    pinned = {"ReleaseVersion": release} if release else {}
    labels = {"Labels": {"training-cluster/node-group": name}} if name else {}
    return {"Type": "AWS::EKS::Nodegroup", "Properties": {**given, **pinned, **labels}}


TEMPLATE = {
    "Resources": {
        "Nodes": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {"LaunchTemplateData": {"InstanceType": "p5.48xlarge"}},
        },
        "Gpu": group(GPU, "1.35.3-20260423", "gpu"),
        "Other": group(GPU, "1.35.3-20261012", "other"),
        "System": group(SYSTEM, None),
    }
}


def answer_releases(account: StubbedAccount) -> None:
    deployed = {"Gpu": "1.35.3-20260423", "Other": "1.35.3-20261012", "System": "1.35.0-20260917"}
    for name, release in deployed.items():
        names = {"clusterName": "training", "nodegroupName": name}
        found = {"nodegroup": {"releaseVersion": release, "version": "1.35"}}
        account.answer("eks", "describe_nodegroup", found, names)
        if name != "Other":
            ami = "standard" if name == "System" else "nvidia"
            account.answer_parameter(f"{PARAMETERS}/{ami}/recommended/release_version", "1.35.5-20261112")


def answer_status(account: StubbedAccount, kubernetes: Kubernetes) -> None:
    account.answer_identity()
    groups = {name: ("AWS::EKS::Nodegroup", f"training/{name}") for name in ("Gpu", "Other", "System")}
    account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training"), **groups})
    account.answer_no_stack("TrainingDataStack")
    account.answer_instances()
    account.answer("ec2", "describe_volumes", {"Volumes": []})
    account.answer("eks", "describe_cluster", {"cluster": {"version": "1.35"}}, {"name": "training"})
    account.answer("cloudformation", "get_template", {"TemplateBody": json.dumps(TEMPLATE)})
    answer_releases(account)
    kubernetes.known_to(account)


def test_status_shows_the_deployed_the_pinned_and_the_newest_release(
    account: StubbedAccount, kubernetes: Kubernetes, command: Command
) -> None:
    answer_status(account, kubernetes)
    code, out, _ = command("status")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert "NODE GROUP AMI RELEASE PINNED NEWEST".split() in lines
    assert "gpu 1.35.3-20260423 1.35.3-20260423 1.35.5-20261112".split() in lines
    assert "other 1.35.3-20261012 1.35.3-20261012 1.35.5-20261112".split() in lines
    assert "system 1.35.0-20260917 EKS chooses 1.35.5-20261112".split() in lines
    (fault,) = [line for line in out.splitlines() if "amazon-eks-ami#" in line]
    assert fault.startswith("gpu runs 1.35.3-20260423: it ends NVIDIA's device plugin in a loop")
    assert fault.endswith("give a release of 20260512 or later, 'latest', or 20260403, the last one before")


def test_status_without_the_right_says_what_is_missing(
    account: StubbedAccount, kubernetes: Kubernetes, command: Command
) -> None:
    account.answer_identity()
    account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training"), "Gpu": ("AWS::EKS::Nodegroup", "training/Gpu")})
    account.answer_no_stack("TrainingDataStack")
    account.answer_instances()
    account.answer("ec2", "describe_volumes", {"Volumes": []})
    account.answer("eks", "describe_cluster", {"cluster": {"version": "1.35"}}, {"name": "training"})
    account.forbid("cloudformation", "get_template")
    kubernetes.known_to(account)
    code, out, _ = command("status")
    assert (code, "note: the releases of the AMI: " in out) == (0, True)
