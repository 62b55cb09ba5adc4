import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk.assertions import Match

from stacks import TrainingClusterStack, TrainingDataStack
from tests.constructs.team.shared_api import manifests
from tests.stacks.templates import templates
from tests.workloads.pod_security import broken, pods
from training_cluster import ClusterConfig
from training_cluster.config import GpuNodeGroupConfig

# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 500
MOST_BYTES = 1_000_000


def resources(template: assertions.Template, kind: str) -> dict[str, dict[str, Any]]:
    return {name: dict(resource) for name, resource in template.find_resources(kind).items()}


def helm_charts(template: assertions.Template) -> set[str]:
    return {chart["Properties"]["Chart"] for chart in resources(template, "Custom::AWSCDK-EKS-HelmChart").values()}


def gpu_groups(template: assertions.Template) -> list[dict[str, Any]]:
    groups = resources(template, "AWS::EKS::Nodegroup").values()
    return [group for group in groups if "Taints" in group["Properties"]]


def test_gpu_nodes_share_their_subnet_with_a_lustre(cluster_template: assertions.Template) -> None:
    file_systems = resources(cluster_template, "AWS::FSx::FileSystem").values()
    of_lustre = {json.dumps(each["Properties"]["SubnetIds"]) for each in file_systems}
    of_nodes = {json.dumps(each["Properties"]["Subnets"]) for each in gpu_groups(cluster_template)}
    assert of_nodes == of_lustre
    assert len(of_lustre) == len(file_systems)


def test_gpu_nodes_wait_for_the_network_addons(cluster_template: assertions.Template) -> None:
    addons = resources(cluster_template, "AWS::EKS::Addon")
    for group in gpu_groups(cluster_template):
        waited_for = {addons[id]["Properties"]["AddonName"] for id in group["DependsOn"] if id in addons}
        assert waited_for == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}


def test_the_efa_plugin_is_there_only_where_there_is_efa() -> None:
    everywhere = {"nvidia-device-plugin", "cluster-autoscaler"}
    assert helm_charts(templates("p3dn-without-efa")["TrainingClusterStack"]) == everywhere
    assert helm_charts(templates("p4d-reservation")["TrainingClusterStack"]) == {
        *everywhere,
        "aws-efa-k8s-device-plugin",
    }


def interfaces(scenario: str) -> list[list[tuple[int, int, str]]]:
    """Network card, device and kind of every interface, by GPU node group."""
    launch_templates = resources(templates(scenario)["TrainingClusterStack"], "AWS::EC2::LaunchTemplate").values()
    data = [template["Properties"]["LaunchTemplateData"] for template in launch_templates]
    return [
        [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in each["NetworkInterfaces"]]
        for each in data
        if "NetworkInterfaces" in each
    ]


def test_p3dn_without_efa() -> None:
    assert interfaces("p3dn-without-efa") == [[(0, 0, "interface")]]
    template = templates("p3dn-without-efa")["TrainingClusterStack"]
    template.resource_count_is("AWS::EC2::PlacementGroup", 1)


def test_p5_capacity_block_with_32_efa_only() -> None:
    (group,) = interfaces("p5-capacity-block")
    assert group[:2] == [(0, 0, "interface"), (0, 1, "efa-only")]
    assert group[2:] == [(card, 0, "efa-only") for card in range(1, 32)]
    template = templates("p5-capacity-block")["TrainingClusterStack"]
    (nodes,) = gpu_groups(template)
    assert nodes["Properties"]["CapacityType"] == "CAPACITY_BLOCK"
    assert nodes["Properties"]["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 0, "MaxSize": 16}


def test_p6_b300_has_a_plain_primary_card_and_16_efa() -> None:
    assert interfaces("p6-b300") == [[(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]]


def test_a_mixed_cluster_scaled_to_zero() -> None:
    template = templates("mixed-scaled-to-zero")["TrainingClusterStack"]
    sizes = [group["Properties"]["ScalingConfig"] for group in gpu_groups(template)]
    assert [(size["MinSize"], size["DesiredSize"], size["MaxSize"]) for size in sizes] == [
        (0, 0, 4),
        (0, 0, 8),
        (0, 0, 4),
    ]
    assert [group["Properties"]["CapacityType"] for group in gpu_groups(template)] == ["SPOT", "ON_DEMAND", "ON_DEMAND"]
    devices = [group["Properties"]["Tags"] for group in gpu_groups(template)]
    prefix = "k8s.io/cluster-autoscaler/node-template/resources/"
    assert [tags[f"{prefix}nvidia.com/gpu"] for tags in devices] == ["1", "8", "8"]
    assert [tags.get(f"{prefix}vpc.amazonaws.com/efa") for tags in devices] == [None, "4", "16"]
    # A pod that requests disk space would start no node of an empty group otherwise.
    assert all(f"{prefix}ephemeral-storage" in tags for tags in devices)


def test_the_second_file_system_and_the_service_account_are_there_when_asked_for() -> None:
    mixed, plain = (templates(name)["TrainingClusterStack"] for name in ("mixed-scaled-to-zero", "p3dn-without-efa"))
    mixed.resource_count_is("AWS::EFS::FileSystem", 1)
    plain.resource_count_is("AWS::EFS::FileSystem", 0)
    accounts = [
        association["Properties"]["ServiceAccount"]
        for association in resources(mixed, "AWS::EKS::PodIdentityAssociation").values()
    ]
    assert "stage-data" in accounts


def test_without_nat_there_are_interface_endpoints_instead() -> None:
    without, with_nat = (templates(name)["TrainingClusterStack"] for name in ("p6-b300", "p3dn-without-efa"))
    without.resource_count_is("AWS::EC2::NatGateway", 0)
    with_nat.resource_count_is("AWS::EC2::NatGateway", 1)
    kinds = [
        endpoint["Properties"]["VpcEndpointType"] for endpoint in resources(without, "AWS::EC2::VPCEndpoint").values()
    ]
    assert kinds.count("Gateway") == 1
    endpoints = {id for id in resources(without, "AWS::EC2::VPCEndpoint") if "Endpoints" in id}
    (cluster,) = resources(without, "AWS::EKS::Cluster").values()
    assert endpoints <= set(cluster["DependsOn"])
    assert kinds.count("Interface") > 5


def test_lustre_is_linked_to_the_bucket_of_the_data_stack(cluster_template: assertions.Template) -> None:
    for link in resources(cluster_template, "AWS::FSx::DataRepositoryAssociation").values():
        prefix, bucket, *_ = link["Properties"]["DataRepositoryPath"]["Fn::Join"][1]
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


def test_the_most_node_groups_fit_too(tmp_path: Path) -> None:
    # No other type has as many interfaces.
    group = GpuNodeGroupConfig(instance_type="p5.48xlarge")
    config = ClusterConfig(
        node_groups={f"gpu{number}": group for number in range(30)},
        admin_arns=("arn:aws:iam::111122223333:role/Admin",),
    )
    app = cdk.App(outdir=str(tmp_path))
    TrainingClusterStack(app, "Cluster", config=config, bucket=TrainingDataStack(app, "Data").bucket)
    app.synth()
    text = (tmp_path / "Cluster.template.json").read_text()
    assert len(json.loads(text)["Resources"]) < MOST_RESOURCES
    assert len(text.encode()) < MOST_BYTES


def test_the_outputs_say_how_to_go_on(cluster_template: assertions.Template) -> None:
    outputs = cluster_template.to_json()["Outputs"]
    (cluster_id,) = resources(cluster_template, "AWS::EKS::Cluster")
    # That of the training zone.
    file_system_id = next(iter(resources(cluster_template, "AWS::FSx::FileSystem")))
    words = ["aws eks update-kubeconfig --region ", {"Ref": "AWS::Region"}, " --name ", {"Ref": cluster_id}]
    assert outputs["KubeconfigCommand"]["Value"] == {"Fn::Join": ["", words]}
    assert outputs["FileSystemId"]["Value"] == {"Ref": file_system_id}


def test_pods_let_go_of_lustre_before_its_driver_goes(cluster_template: assertions.Template) -> None:
    addons = resources(cluster_template, "AWS::EKS::Addon").items()
    (driver,) = [id for id, addon in addons if addon["Properties"]["AddonName"] == "aws-fsx-csi-driver"]
    manifests = resources(cluster_template, "Custom::AWSCDK-EKS-KubernetesResource").values()
    volumes = [manifest for manifest in manifests if "fsx.csi.aws.com" in json.dumps(manifest["Properties"])]
    # That of the jobs, and that of the Job which makes their folders.
    assert len(volumes) == 2 * len(resources(cluster_template, "AWS::FSx::FileSystem"))
    assert all(driver in volume["DependsOn"] for volume in volumes)


def test_the_namespace_of_jobs_can_enforce_restricted(cluster_template: assertions.Template) -> None:
    """What the deployment itself runs there would be rejected otherwise, as the Job that sets owners was."""
    documents = [
        each for each in manifests(cluster_template.to_json()) if each["metadata"].get("namespace") == "default"
    ]
    assert documents
    assert [broken(pod) for document in documents for pod in pods(document) if broken(pod)] == []


def test_the_price_by_the_hour_is_reported_with_its_date() -> None:
    outputs = templates("p3dn-without-efa")["TrainingClusterStack"].to_json()["Outputs"]
    said = outputs["EstimatedCostPerHour"]["Value"]
    assert said.startswith(
        "63.31 USD as deployed; with every node group at its max_size, On-Demand, 63.31 USD: "
        "2 x m5.xlarge at 0.192, 2 x p3dn.24xlarge at 31.212, "
    )
    outputs = templates("p5-capacity-block")["TrainingClusterStack"].to_json()["Outputs"]
    said = outputs["EstimatedCostPerHour"]["Value"]
    unpriced = "Lustre PERSISTENT_2 of 9600 GiB at 500 MB/s per TiB without a price"
    assert said.startswith(
        f"0.60 USD + {unpriced} as deployed; "
        f"with every node group at its max_size, On-Demand, 881.59 USD + {unpriced}: "
    )
    assert "(us-east-1, 2026-02-09 to " in said


def test_without_nat_the_price_has_the_endpoints_of_each_zone_and_the_end_of_standard_support() -> None:
    template = templates("p6-b300")["TrainingClusterStack"]
    outputs = template.to_json()["Outputs"]
    found = [endpoint["Properties"] for endpoint in resources(template, "AWS::EC2::VPCEndpoint").values()]
    endpoints = [endpoint for endpoint in found if endpoint["VpcEndpointType"] == "Interface"]
    interfaces = sum(len(one["SubnetIds"]) for one in endpoints)
    assert interfaces >= 22
    said = outputs["EstimatedCostPerHour"]["Value"]
    assert f"{interfaces} x interface endpoint in a zone at 0.01" in said
    assert "NAT gateway" not in said
    assert "0.50 USD more from 2026-12-02 on, when Kubernetes 1.34 is in extended support" in said


def test_the_sustained_lustre_throughput_is_reported() -> None:
    outputs = templates("p3dn-without-efa")["TrainingClusterStack"].to_json()["Outputs"]
    assert outputs["LustreThroughput"]["Value"] == (
        "1200 GiB at 125 MB/s per TiB sustain 146 MB/s: 1,332 images/s of 110 kB "
        "(trainctl platform size-lustre sizes another job)"
    )


NO_ADMIN = Match.string_like_regexp("'admin_arns' is empty")


def annotations(**settings: Any) -> assertions.Annotations:
    app = cdk.App()
    config = ClusterConfig(node_groups={"gpu": GpuNodeGroupConfig(instance_type="p4d.24xlarge")}, **settings)
    bucket = TrainingDataStack(app, "Data").bucket
    return assertions.Annotations.from_stack(TrainingClusterStack(app, "Cluster", config=config, bucket=bucket))


def test_no_administrator_and_a_type_that_the_region_of_the_zones_lacks_are_warned_of() -> None:
    lacks = Match.string_like_regexp("'p4d.24xlarge', but EC2 did not offer it in ap-east-1 ")
    wrong = annotations(availability_zones=("ap-east-1a", "ap-east-1b"))
    wrong.has_warning("*", NO_ADMIN)
    wrong.has_warning("*", lacks)
    right = annotations(
        availability_zones=("us-east-1a", "us-east-1b"), admin_arns=("arn:aws:iam::111122223333:role/Admin",)
    )
    right.has_no_warning("*", NO_ADMIN)
    right.has_no_warning("*", lacks)


def test_a_file_system_with_efa_opens_all_traffic_to_the_nodes() -> None:
    template = templates("p5-capacity-block")["TrainingClusterStack"]
    (file_system,) = resources(template, "AWS::FSx::FileSystem").values()
    assert file_system["Properties"]["LustreConfiguration"]["EfaEnabled"] is True
    assert file_system["Properties"]["StorageCapacity"] == 9600
    group = file_system["Properties"]["SecurityGroupIds"][0]
    rules = [rule["Properties"] for rule in resources(template, "AWS::EC2::SecurityGroupIngress").values()]
    sources = [
        rule["SourceSecurityGroupId"] for rule in rules if rule["GroupId"] == group and rule["IpProtocol"] == "-1"
    ]
    assert group in sources
    assert len(sources) == 2


def test_without_nat_charts_and_images_are_those_of_the_mirror() -> None:
    template = templates("p6-b300")["TrainingClusterStack"]
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"
    for chart in resources(template, "Custom::AWSCDK-EKS-HelmChart").values():
        assert chart["Properties"]["Repository"].startswith(f"oci://{mirror}/")
    manifests = json.dumps([*resources(template, "Custom::AWSCDK-EKS-KubernetesResource").values()])
    assert f"{mirror}/mpi-operator" in manifests
    versions = {group["Properties"]["Version"] for group in resources(template, "AWS::EKS::Nodegroup").values()}
    assert versions == {"1.34"}


def test_a_scratch_file_system_in_each_zone_mirrors_two_folders() -> None:
    template = templates("mixed-scaled-to-zero")["TrainingClusterStack"]
    file_systems = resources(template, "AWS::FSx::FileSystem").values()
    assert len(file_systems) == 2
    for file_system in file_systems:
        assert file_system["Properties"]["LustreConfiguration"]["DeploymentType"] == "SCRATCH_2"
        assert "KmsKeyId" not in file_system["Properties"]
    folders = resources(template, "AWS::FSx::DataRepositoryAssociation").values()
    assert [folder["Properties"]["FileSystemPath"] for folder in folders] == ["/data", "/runs"] * 2
    (subscription,) = resources(template, "AWS::SNS::Subscription").values()
    assert subscription["Properties"]["Endpoint"] == "team@example.com"


def test_an_identity_waits_for_its_namespace() -> None:
    template = templates("mixed-scaled-to-zero")["TrainingClusterStack"]
    found = resources(template, "Custom::AWSCDK-EKS-KubernetesResource").items()
    manifests = {id: (str(each["Properties"]["Manifest"]), each) for id, each in found}
    (namespace,) = [
        id for id, (text, _) in manifests.items() if '"kind":"Namespace","metadata":{"name":"research"' in text
    ]
    (account,) = [each for text, each in manifests.values() if '"name":"stage-data"' in text]
    assert namespace in account["DependsOn"]


ZONES = ("us-east-1a", "us-east-1b")


def cluster_stack(**fields: Any) -> assertions.Template:
    app = cdk.App()
    data = TrainingDataStack(app, "TrainingDataStack")
    config = ClusterConfig.model_validate({"availability_zones": ZONES, **fields})
    return assertions.Template.from_stack(
        TrainingClusterStack(app, "TrainingClusterStack", config=config, bucket=data.bucket, encryption_key=data.key)
    )


def test_two_zones_have_a_file_system_each() -> None:
    group = {"instance_type": "p4d.24xlarge"}
    template = cluster_stack(
        node_groups={"a": group, "b": {**group, "availability_zone": "us-east-1b"}},
        lustre={"availability_zone": "us-east-1a", "further_zones": ("us-east-1b",)},
    )
    subnets = {
        id: subnet["Properties"]["AvailabilityZone"] for id, subnet in resources(template, "AWS::EC2::Subnet").items()
    }
    lustre = resources(template, "AWS::FSx::FileSystem").values()
    assert sorted(subnets[each["Properties"]["SubnetIds"][0]["Ref"]] for each in lustre) == list(ZONES)
    assert sorted(subnets[each["Properties"]["Subnets"][0]["Ref"]] for each in gpu_groups(template)) == list(ZONES)
    manifests = json.dumps(template.to_json())
    assert "training-lustre-us-east-1b" in manifests
    ids = {
        subnets[each["Properties"]["SubnetIds"][0]["Ref"]]: id
        for id, each in resources(template, "AWS::FSx::FileSystem").items()
    }
    full = [
        json.dumps(each["Properties"])
        for each in resources(template, "AWS::CloudWatch::Alarm").values()
        if "Lustre is full" in each["Properties"]["AlarmDescription"]
    ]
    assert sorted(id for alarm in full for id in ids.values() if f'"Ref": "{id}"' in alarm) == sorted(ids.values())
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard").values()
    body = json.dumps(dashboard)
    assert body.index("Lustre free space (%)") < body.index("Lustre-us-east-1b free space (%)")
    outputs = template.to_json()["Outputs"]
    assert outputs["FileSystemId"]["Value"] == {"Ref": ids["us-east-1a"]}
    assert outputs["FileSystemIduseast1b"]["Value"] == {"Ref": ids["us-east-1b"]}


VPC = {
    "vpc_id": "vpc-0123456789abcdef0",
    "private_subnet_ids": ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
}


def test_an_existing_vpc_with_a_mirror_is_warned_of_the_endpoints_that_it_needs_without_nat() -> None:
    config = {"node_groups": {"a": {"instance_type": "p4d.24xlarge"}}, "existing_vpc": VPC, "availability_zones": ZONES}

    def found(**settings: Any) -> list[str]:
        app = cdk.App()
        whole = ClusterConfig.model_validate({**config, **settings})
        stack = TrainingClusterStack(app, "Cluster", config=whole, bucket=TrainingDataStack(app, "Data").bucket)
        notes = assertions.Annotations.from_stack(stack).find_warning("*", Match.string_like_regexp("'existing_vpc'"))
        return [str(each.entry.data) for each in notes]

    assert found() == []
    (said,) = found(mirror="111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror")
    assert said.startswith(
        "'existing_vpc' needs NAT, or a gateway endpoint of S3 and interface endpoints with private DNS names of ec2, "
        "ecr.api, ecr.dkr, eks, eks-auth, autoscaling, sts, logs, monitoring, lambda, elasticfilesystem; without them "
    )


def test_what_outlives_the_cluster_is_named_and_not_made() -> None:
    template = cluster_stack(
        node_groups={"a": {"instance_type": "p4d.24xlarge"}},
        existing_vpc=VPC,
        existing_lustre={
            "file_system_id": "fs-0123456789abcdef0",
            "mount_name": "abcdefgh",
            "capacity_gib": 2400,
            "security_group_id": "sg-0123456789abcdef0",
        },
        existing_efs={"file_system_id": "fs-0123456789abcdef1", "access_point_id": "fsap-0123456789abcdef0"},
    )
    for kind in ("AWS::EC2::VPC", "AWS::FSx::FileSystem", "AWS::EFS::FileSystem", "AWS::EC2::NatGateway"):
        template.resource_count_is(kind, 0)
    (group,) = gpu_groups(template)
    assert group["Properties"]["Subnets"] == ["subnet-0123456789abcdef0"]
    text = json.dumps(template.to_json())
    assert "fs-0123456789abcdef0.fsx." in text
    assert "fsap-0123456789abcdef0" in text
    assert "aws-efs-csi-driver" in text
    opened = [rule["Properties"] for rule in resources(template, "AWS::EC2::SecurityGroupIngress").values()]
    assert {rule["FromPort"] for rule in opened if rule["GroupId"] == "sg-0123456789abcdef0"} == {988, 1018}
    assert "LustreThroughput" not in template.to_json()["Outputs"]


def test_system_nodes_without_a_price_are_named_and_the_rest_is_summed() -> None:
    groups: Any = {"gpu": {"instance_type": "p3dn.24xlarge", "min_size": 2}}
    nodes: Any = {"instance_type": "m6i.xlarge", "min_size": 3}
    app = cdk.App()
    stack = TrainingDataStack(app, "Data")
    config = ClusterConfig(node_groups=groups, system_nodes=nodes)
    cluster = TrainingClusterStack(app, "Cluster", config=config, bucket=stack.bucket)
    said = assertions.Template.from_stack(cluster).to_json()["Outputs"]["EstimatedCostPerHour"]["Value"]
    assert said.startswith("62.96 USD + m6i.xlarge without a price as deployed; ")
