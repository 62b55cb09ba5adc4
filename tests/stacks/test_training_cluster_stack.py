import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk.assertions import Match

from stacks import TrainingClusterStack, TrainingDataStack
from tests.stacks.templates import templates
from training_cluster import ClusterConfig, GpuNodeGroupSpec

# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 500
MOST_BYTES = 1_000_000


def resources(template: assertions.Template, kind: str) -> dict[str, dict[str, Any]]:
    return dict(template.find_resources(kind))


def helm_charts(template: assertions.Template) -> set[str]:
    return {chart["Properties"]["Chart"] for chart in resources(template, "Custom::AWSCDK-EKS-HelmChart").values()}


def test_gpu_nodes_and_lustre_share_one_subnet(cluster_template: assertions.Template) -> None:
    (file_system,) = resources(cluster_template, "AWS::FSx::FileSystem").values()
    groups = resources(cluster_template, "AWS::EKS::Nodegroup").values()
    (gpu_group,) = [group for group in groups if "Taints" in group["Properties"]]
    assert gpu_group["Properties"]["Subnets"] == file_system["Properties"]["SubnetIds"]


def test_gpu_nodes_wait_for_the_network_addons(cluster_template: assertions.Template) -> None:
    groups = resources(cluster_template, "AWS::EKS::Nodegroup").values()
    (gpu_group,) = [group for group in groups if "Taints" in group["Properties"]]
    addons = resources(cluster_template, "AWS::EKS::Addon")
    waited_for = {addons[id]["Properties"]["AddonName"] for id in gpu_group["DependsOn"] if id in addons}
    assert waited_for == {"vpc-cni", "kube-proxy"}


def test_the_efa_plugin_is_there_only_where_there_is_efa() -> None:
    assert helm_charts(templates("p3.16xlarge")["TrainingClusterStack"]) == {"nvidia-device-plugin"}
    assert helm_charts(templates("p4d.24xlarge")["TrainingClusterStack"]) == {
        "nvidia-device-plugin",
        "aws-efa-k8s-device-plugin",
    }


def test_lustre_is_linked_to_the_bucket_of_the_data_stack(cluster_template: assertions.Template) -> None:
    (link,) = resources(cluster_template, "AWS::FSx::DataRepositoryAssociation").values()
    prefix, bucket = link["Properties"]["DataRepositoryPath"]["Fn::Join"][1]
    assert prefix == "s3://"
    assert bucket["Fn::ImportValue"].startswith("TrainingDataStack:ExportsOutputRefBucket")


def test_everything_of_the_kubernetes_side_is_applied(cluster_template: assertions.Template) -> None:
    manifests = resources(cluster_template, "Custom::AWSCDK-EKS-KubernetesResource").values()
    text = json.dumps([manifest["Properties"]["Manifest"] for manifest in manifests])
    for kind in ("CustomResourceDefinition", "Deployment", "PersistentVolume", "PersistentVolumeClaim"):
        assert f'\\"kind\\":\\"{kind}\\"' in text.replace("\\\\", "\\"), kind


def test_the_template_is_within_cloudformations_limits(cluster_template: assertions.Template) -> None:
    template = cluster_template.to_json()
    assert len(template["Resources"]) < MOST_RESOURCES
    assert len(json.dumps(template)) < MOST_BYTES


def test_the_outputs_say_how_to_go_on(cluster_template: assertions.Template) -> None:
    outputs = cluster_template.to_json()["Outputs"]
    (cluster_id,) = resources(cluster_template, "AWS::EKS::Cluster")
    (file_system_id,) = resources(cluster_template, "AWS::FSx::FileSystem")
    words = ["aws eks update-kubeconfig --region ", {"Ref": "AWS::Region"}, " --name ", {"Ref": cluster_id}]
    assert outputs["KubeconfigCommand"]["Value"] == {"Fn::Join": ["", words]}
    assert outputs["FileSystemId"]["Value"] == {"Ref": file_system_id}


def test_pods_let_go_of_lustre_before_its_driver_goes(cluster_template: assertions.Template) -> None:
    addons = resources(cluster_template, "AWS::EKS::Addon").items()
    (driver,) = [id for id, addon in addons if addon["Properties"]["AddonName"] == "aws-fsx-csi-driver"]
    manifests = resources(cluster_template, "Custom::AWSCDK-EKS-KubernetesResource").values()
    (volume,) = [manifest for manifest in manifests if "PersistentVolume" in json.dumps(manifest["Properties"])]
    assert driver in volume["DependsOn"]


NO_ADMIN = Match.string_like_regexp("'admin_arns' is empty")


def annotations(**settings: Any) -> assertions.Annotations:
    app = cdk.App()
    config = ClusterConfig(node_groups={"gpu": GpuNodeGroupSpec(instance_type="p3.16xlarge")}, **settings)
    bucket = TrainingDataStack(app, "Data").bucket
    return assertions.Annotations.from_stack(TrainingClusterStack(app, "Cluster", config=config, bucket=bucket))


def test_an_empty_list_of_administrators_is_warned_of() -> None:
    annotations().has_warning("*", NO_ADMIN)


def test_a_list_with_an_administrator_is_not() -> None:
    annotations(admin_arns=("arn:aws:iam::111122223333:role/Admin",)).has_no_warning("*", NO_ADMIN)
