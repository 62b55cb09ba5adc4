"""The graphs that are drawn by hand agree with templates and manifests, and the drawn layers with the rules."""

import json
import re
from typing import Any

import aws_cdk as cdk
import cdk8s
import pytest

from app import build
from docs.site.pictures.graphviz import drawn
from docs.site.pictures.layers_picture import layers_picture
from setup.layers import LAYERS
from setup.source_tree import ROOT
from training_cluster import load_config
from training_workloads.catalog import gpu_instance_type
from training_workloads.jobs.constructs import define_job
from training_workloads.recipes import recipe

CLUSTER, JOB = ((ROOT / f"docs/pictures/{name}.dot").read_text() for name in ("cluster", "job"))


@pytest.fixture(scope="module")
def resources() -> list[dict[str, Any]]:
    """Return the resources of both stacks, with the picture's instance type."""
    config = load_config(str(ROOT / "cluster.yaml"), {"node_groups.gpu.instance_type": "p4d.24xlarge"})
    assembly = build(config, cdk.App()).synth()
    names = ("TrainingDataStack", "TrainingClusterStack")
    return [
        {"Stack": name, **each}
        for name in names
        for each in assembly.get_stack_by_name(name).template["Resources"].values()
    ]


def test_each_type_of_resource_is_in_the_graph_and_each_of_the_graph_is_created(
    resources: list[dict[str, Any]],
) -> None:
    named = set(re.findall(r"\b(?:AWS|Custom)::[\w:-]+", CLUSTER))
    # The CDK's own statistics, which an option of the app decides about.
    assert named == {each["Type"] for each in resources} - {"AWS::CDK::Metadata"}


def test_the_cluster_has_the_names_and_numbers_of_the_templates(resources: list[dict[str, Any]]) -> None:
    def of(kind: str) -> list[dict[str, Any]]:
        found = [each for each in resources if (each["Stack"], each["Type"]) == ("TrainingClusterStack", kind)]
        return [each["Properties"] for each in found]

    addons = of("AWS::EKS::Addon")
    (system, gpu), (lustre,) = of("AWS::EKS::Nodegroup"), of("AWS::FSx::FileSystem")
    (template,) = [
        data for each in of("AWS::EC2::LaunchTemplate") if "Placement" in (data := each["LaunchTemplateData"])
    ]
    efa = [each for each in template["NetworkInterfaces"] if each.get("InterfaceType", "").startswith("efa")]
    subnets = of("AWS::EC2::Subnet")
    public = [each for each in subnets if each["MapPublicIpOnLaunch"]]
    expected = [
        f"EKS, Kubernetes {of('AWS::EKS::Cluster')[0]['Version']}",
        f"{len(addons)} add-ons",
        *(re.sub("^(amazon|aws|eks)-", "", each["AddonName"]).removeprefix("eks-") for each in addons),
        *(each["Release"] for each in of("Custom::AWSCDK-EKS-HelmChart")),
        f"{len(of('AWS::CloudWatch::Dashboard'))} dashboard<",
        f"{len(of('AWS::CloudWatch::Alarm'))} alarms",
        f"{len(of('AWS::Logs::LogGroup'))} log groups",
        f"VPC {of('AWS::EC2::VPC')[0]['CidrBlock']}, {len(subnets) - len(public)} zones",
        f"{_nodes(system)} x {system['InstanceTypes'][0]}",
        f"{_nodes(gpu)} x {template['InstanceType']}",
        f"{gpu_instance_type(template['InstanceType']).gpus} GPUs and {len(efa)} EFA interfaces each",
        f"{lustre['StorageCapacity']} GiB",
        f"{lustre['LustreConfiguration']['PerUnitStorageThroughput']} MB/s per TiB",
        f"{len(public)} public subnets",
        f"{len(of('AWS::EC2::NatGateway'))} NAT gateway<",
    ]
    assert [text for text in expected if text not in CLUSTER] == []
    manifests = json.dumps(of("Custom::AWSCDK-EKS-KubernetesResource")).replace("\\", "")
    assert re.findall(r'"kind":"Deployment".*?"name":"([\w-]+)"', manifests) == ["mpi-operator"]


def _nodes(group: dict[str, Any]) -> str:
    return f"{group['ScalingConfig']['MinSize']} to {group['ScalingConfig']['MaxSize']}"


def test_what_the_graph_calls_kept_is_retained(resources: list[dict[str, Any]]) -> None:
    kept = ("AWS::S3::Bucket", "AWS::ECR::Repository", "AWS::KMS::Key")
    assert {each.get("DeletionPolicy") for each in resources if each["Type"] in kept} == {"Retain"}
    assert CLUSTER.count("kept on deletion") == len(kept)


def test_the_job_has_the_numbers_of_the_recipe() -> None:
    spec: Any = recipe("resnet50-p4d")
    chart = cdk8s.Chart(cdk8s.App(), "resnet50-p4d")
    define_job(chart, "Job", spec=spec)
    documents = chart.to_json()
    replicas = next(each for each in documents if each["kind"] == "MPIJob")["spec"]["mpiReplicaSpecs"]
    launcher, worker = (replicas[name]["template"]["spec"]["containers"][0] for name in ("Launcher", "Worker"))
    limits = worker["resources"]["limits"]
    gpu = gpu_instance_type(spec.instance_type).gpu
    assert gpu
    expected = [
        " ".join(spec.command[:3]),
        f"{spec.workers} workers on {spec.instance_type}",
        " and ".join(sorted(each["kind"] for each in documents)),
        f"mpirun with {launcher['command'][launcher['command'].index('-np') + 1]} ranks",
        f"restarts up to {spec.backoff_limit} times",
        f"{limits['nvidia.com/gpu']} {gpu.model} GPUs, {limits['vpc.amazonaws.com/efa']} EFA each",
        *(word for word in spec.command if word.startswith("/")),
    ]
    assert [text for text in expected if text not in JOB] == []


def test_the_layers_are_those_of_the_rules() -> None:
    dot = layers_picture()
    parts = {part for layers in LAYERS.values() for layer in layers for part in layer if not part.startswith("__")}
    assert [part for part in parts if part not in dot] == []


def test_a_stack_of_packages_imports_downwards_only() -> None:
    assert re.findall(r"^(\w+) -> (\w+) \[style=solid\]", layers_picture(), flags=re.MULTILINE) == [
        ("stacks", "training_cluster"),
        ("training_cluster", "training_workloads"),
    ]


def test_the_title_of_a_picture_is_the_name_of_its_graph() -> None:
    svg = drawn('digraph "A & B" {\na -> b\n}')
    assert svg.startswith('<svg role="img" ')
    assert re.findall("<title>.*</title>", svg) == ["<title>A &amp; B</title>"]
