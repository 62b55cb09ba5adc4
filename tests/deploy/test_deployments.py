"""Each configuration deployed for real, on an emulator: the tests of one depend on each other, in this order."""

import pytest

from tests.deploy.deployment import NEWER, OLDER, Deployment, difference
from tests.deploy.emulated_aws.node_group_updates import STATUS_TAG
from tests.deploy.emulator import ROOT
from tests.deploy.expected import FOUND_BY_PREFLIGHT, NAMED_IN_THE_DOCUMENT, NOT_READ
from tests.deploy.read_back import READERS, read, wrong
from tests.deploy.trainctl import cluster_command
from tests.schemas import check_manifest
from training_workloads import gpu_instance_type
from training_workloads.lint import lint_documents

only_default = pytest.mark.parametrize("deployment", ["default"], indirect=True)
only_block = pytest.mark.parametrize("deployment", ["p5-capacity-block"], indirect=True)
only_mixed = pytest.mark.parametrize("deployment", ["mixed"], indirect=True)

GROUP, LAUNCH_TEMPLATE = "AWS::EKS::Nodegroup", "AWS::EC2::LaunchTemplate"


@only_default
def test_a_failed_first_deployment_leaves_nothing(deployment: Deployment) -> None:
    deployment.emulator.reject_next("helm")
    assert not deployment.cdk.deploy(deployment.assembly, may_fail=True)
    (stack,) = deployment.aws("cloudformation").describe_stacks(StackName="TrainingClusterStack")["Stacks"]
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    template = deployment.templates["TrainingDataStack"]
    resources = deployment.aws("cloudformation").list_stack_resources(StackName="TrainingDataStack")
    data = {each["PhysicalResourceId"] for each in resources["StackResourceSummaries"]}
    assert len(data) == len(template["Resources"])
    left = {each for each in deployment.left() if each.partition("/")[2] not in data}
    assert left == set()


def test_deploys(deployment: Deployment) -> None:
    deployment.emulator.take_applied()
    deployment.deploy()
    assert deployment.stacks().missing() == []


@only_default
def test_preflight_finds_what_the_emulator_can_answer(deployment: Deployment) -> None:
    overrides = [word for key, value in deployment.context.items() for word in ("-c", f"{key}={value}")]
    code, rows = cluster_command(deployment.aws, "preflight", f"--config={deployment.file}", *overrides)
    assert {row["check"].partition(" of fs-")[0]: row["state"] for row in rows} == FOUND_BY_PREFLIGHT, rows
    assert code == 1


@only_default
def test_status_shows_what_is_deployed(deployment: Deployment) -> None:
    code, report = cluster_command(deployment.aws, "status")
    assert (code, report["stacks"]) == (
        0,
        {"TrainingClusterStack": "CREATE_COMPLETE", "TrainingDataStack": "CREATE_COMPLETE"},
    )
    (system,) = report["file_systems"]
    assert (system["capacity_gib"], system["exports"], system["broken"], system["tasks"]) == (1200, 1, [], 0)
    assert "1 x NAT gateway" in report["price"]
    (note,) = report["notes"]
    assert note.startswith("Kubernetes: there is no kubeconfig at ")


def test_each_node_group_is_in_the_zone_of_its_file_system(deployment: Deployment) -> None:
    stacks, config = deployment.stacks(), deployment.config
    subnets = {each["SubnetId"]: each for each in deployment.aws("ec2").describe_subnets()["Subnets"]}

    def zones(type_name: str, key: str) -> list[set[str]]:
        found = [each.properties for each in stacks.of_type(type_name)]
        return [{subnets[id]["AvailabilityZone"] for id in each[key]} for each in found]

    training = config.training_zone or f"{deployment.aws.region}a"
    # The templates in the order of their names: that of SageMaker before that of the cluster.
    managed = [config.sagemaker.training_zone] if config.sagemaker and config.sagemaker.lustre else []
    expected = [*managed, training, *config.lustre.further_zones]
    assert zones("AWS::FSx::FileSystem", "SubnetIds") == [{zone} for zone in expected]
    # The system nodes have a node in each of two zones.
    groups = [each for each in zones("AWS::EKS::Nodegroup", "Subnets") if len(each) == 1]
    wanted = [{group.availability_zone or training} for group in config.node_groups.values()]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, wanted))


def test_everything_is_as_in_the_template(deployment: Deployment) -> None:
    readable = [each for each in deployment.stacks().resources() if each.type in READERS]
    found = [line for each in readable for line in wrong(each, read(deployment.aws, each))]
    assert found == [], "\n".join(found)
    assert {"AWS::EKS::Nodegroup", "AWS::EC2::LaunchTemplate", "AWS::FSx::FileSystem"} <= {x.type for x in readable}


def test_node_groups_have_the_interfaces_of_their_instance_type(deployment: Deployment) -> None:
    stacks = deployment.stacks()
    data = {
        each.physical_id: read(deployment.aws, each)["LaunchTemplateData"]
        for each in stacks.of_type("AWS::EC2::LaunchTemplate")
    }
    groups = stacks.of_type("AWS::EKS::Nodegroup")
    of_instance_type = {
        launch["InstanceType"]: launch
        for group in groups
        for launch in [data[group.properties["LaunchTemplate"]["Id"]]]
        if "InstanceType" in launch
    }
    assert of_instance_type.keys() == {group.instance_type for group in deployment.config.node_groups.values()}
    for name, launch in of_instance_type.items():
        instance = gpu_instance_type(name)
        efa = [each for each in launch["NetworkInterfaces"] if each["InterfaceType"].startswith("efa")]
        assert len(efa) == instance.efa_interfaces, name
        places = [(each["NetworkCardIndex"], each["DeviceIndex"]) for each in launch["NetworkInterfaces"]]
        assert len(set(places)) == len(places)
        assert places[0] == (0, 0)
    for group in deployment.config.node_groups.values():
        reservation = of_instance_type[group.instance_type].get("CapacityReservationSpecification", {})
        target = reservation.get("CapacityReservationTarget", {}).get("CapacityReservationId")
        assert target == group.capacity_reservation_id
        market = of_instance_type[group.instance_type].get("InstanceMarketOptions", {}).get("MarketType")
        assert market == ("capacity-block" if group.capacity_type == "CAPACITY_BLOCK" else None)


def test_kubernetes_gets_valid_objects_and_pinned_charts(deployment: Deployment) -> None:
    calls = deployment.emulator.take_applied()
    documents = [each for call in calls if call["program"] == "kubectl" for each in call["documents"]]
    assert {"PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition"} <= {x["kind"] for x in documents}
    for document in documents:
        check_manifest(document)
    assert [finding for found in lint_documents(documents) for finding in found] == []
    # Each volume applies the namespace of its Job; CloudFormation deletes none.
    namespaces = [each for each in documents if each["kind"] == "Namespace"]
    assert len({each["metadata"]["name"] for each in namespaces}) == len({str(each) for each in namespaces})
    others = [each for each in documents if each["kind"] != "Namespace"]
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in others]
    assert len(set(names)) == len(names), "an object is applied twice"
    (cluster,) = deployment.stacks().of_type("AWS::EKS::Cluster")
    assert {call["cluster"] for call in calls if "cluster" in call} == {cluster.physical_id}
    charts = [call["arguments"] for call in calls if call["program"] == "helm"]
    assert charts
    for arguments in charts:
        upstream = "--repo" in arguments and "--version" in arguments
        from_mirror = arguments[0] in ("pull", "registry") or not any("://" in each for each in arguments)
        assert from_mirror if deployment.config.mirror else upstream, arguments


def test_the_outputs_of_sagemaker_name_what_is_deployed(deployment: Deployment) -> None:
    section = deployment.config.sagemaker
    if section is None:
        assert "SageMakerTrainingStack" not in deployment.templates
        return
    outputs, aws = deployment.stacks().outputs("SageMakerTrainingStack"), deployment.aws
    subnets = aws("ec2").describe_subnets(SubnetIds=outputs["SubnetIds"].split(","))["Subnets"]
    zones = [section.training_zone] if section.lustre else sorted(section.availability_zones)
    assert sorted(each["AvailabilityZone"] for each in subnets) == zones
    (group,) = aws("ec2").describe_security_groups(GroupIds=[outputs["SecurityGroupId"]])["SecurityGroups"]
    assert {each["VpcId"] for each in subnets} == {group["VpcId"]}
    role = aws("iam").get_role(RoleName=outputs["TrainingRoleArn"].rpartition("/")[2])["Role"]
    assert role["Arn"] == outputs["TrainingRoleArn"]
    assert aws("s3").head_bucket(Bucket=outputs["BucketName"])
    name = outputs["ImageRepositoryUri"].partition("/")[2]
    assert aws("ecr").describe_repositories(repositoryNames=[name])["repositories"]
    # The emulator has no SageMaker: tests/deploy/emulated_aws keeps what the template says, and starts nothing.
    notebook = aws("sagemaker").describe_notebook_instance(NotebookInstanceName=outputs["NotebookInstanceName"])
    assert (notebook["DirectInternetAccess"], notebook["RootAccess"]) == ("Disabled", "Disabled")
    if section.lustre:
        (lustre,) = aws("fsx").describe_file_systems(FileSystemIds=[outputs["LustreFileSystemId"]])["FileSystems"]
        assert lustre["LustreConfiguration"]["MountName"] == outputs["LustreMountName"]


def test_the_difference_is_empty(deployment: Deployment) -> None:
    assert deployment.cdk.diff(deployment.assembly) == ""
    assert planned(deployment) == (0, [], [])


def planned(deployment: Deployment) -> tuple[int, list[tuple[str, str]], list[str]]:
    """Return the plan's exit code, its changes by action and type, and the outcomes of its findings."""
    code, plan = cluster_command(deployment.aws, "plan", "--app", str(deployment.assembly))
    changes = [(each["action"], each["type"]) for stack in plan["stacks"].values() for each in stack]
    return code, changes, [each["outcome"] for each in plan["findings"]]


@only_default
def test_more_workers_change_the_node_group_only(deployment: Deployment) -> None:
    before = deployment.state()
    deployment.change(**{"node_groups.gpu.max_size": "4"})
    assert deployment.cdk.diff(deployment.assembly) != ""
    assert planned(deployment) == (0, [("update", "AWS::EKS::Nodegroup")], [])
    deployment.deploy()
    change = difference(before, deployment.state())
    ((type_name, group),) = change.updated
    assert (change.added, change.removed, change.replaced) == (set(), set(), set())
    assert type_name == "AWS::EKS::Nodegroup"
    _, found = deployment.state()[type_name, group]
    assert found["ScalingConfig"]["MaxSize"] == 4
    assert deployment.emulator.take_applied() == []


def of_type(change: set[tuple[str, str]], type_name: str) -> set[str]:
    return {logical_id for found, logical_id in change if found == type_name}


@only_default
def test_a_tag_is_a_new_version_of_the_launch_templates_only(deployment: Deployment) -> None:
    before = deployment.state()
    for team in ("vision", "speech"):
        deployment.change_tag(team)
        deployment.deploy()
    change = difference(before, deployment.state())
    assert (change.added, change.removed, change.replaced) == (set(), set(), set())
    assert len(of_type(change.updated, GROUP)) == len(of_type(change.updated, LAUNCH_TEMPLATE)) == 2
    after = deployment.state()
    for key in after.keys() & change.updated:
        if key[0] == GROUP:
            differences = {name for name in after[key][1] if after[key][1][name] != before[key][1][name]}
            assert differences == {"LaunchTemplate"}
        elif key[0] == LAUNCH_TEMPLATE:
            (instance, *_) = after[key][1]["LaunchTemplateData"]["TagSpecifications"]
            assert {"Key": "team", "Value": "speech"} in instance["Tags"]
    # Without the tag again: to remove it is an update of the groups, too.
    deployment.change()
    deployment.deploy()


@only_default
def test_another_instance_type_makes_a_new_node_group(deployment: Deployment) -> None:
    before = deployment.state()
    deployment.change(**{"node_groups.gpu.instance_type": "p5.48xlarge"})
    code, changes, found = planned(deployment)
    # No node of the old group runs, so nothing stops.
    assert (code, found) == (0, [])
    assert [action for action, kind in changes if kind == GROUP] == ["create", "remove"]
    deployment.deploy()
    change = difference(before, deployment.state())
    for type_name in (GROUP, LAUNCH_TEMPLATE, "AWS::EC2::PlacementGroup"):
        assert [len(of_type(each, type_name)) for each in (change.added, change.removed)] == [1, 1], type_name
    assert change.types("replaced") == set()
    (added,) = of_type(change.added, GROUP)
    assert "p548xlarge" in added
    names = deployment.aws("eks").list_nodegroups(clusterName=deployment.cluster)["nodegroups"]
    assert len(names) == 2


@only_default
def test_nodes_and_their_number_do_not_change_together(deployment: Deployment) -> None:
    """One of the pairs that docs/upgrade.md lists."""
    before, assembly, context = deployment.state(), deployment.assembly, dict(deployment.context)
    both = {"node_groups.gpu.root_volume_mib_per_second": "500", "node_groups.gpu.max_size": "8"}
    deployment.change(**both)
    assert planned(deployment) == (1, [("update", LAUNCH_TEMPLATE), ("update", GROUP)], ["rejected"])
    assert not deployment.cdk.deploy(deployment.assembly, may_fail=True)
    assert any("updates cannot be combined with other updates" in each for each in deployment.events(GROUP))
    deployment.assembly, deployment.context = assembly, context
    change = difference(before, deployment.state())
    assert change.types("updated") <= {LAUNCH_TEMPLATE}
    for key, value in both.items():
        deployment.change(**{key: value})
        deployment.deploy()


@only_default
def test_another_first_zone_is_rejected_and_the_file_system_stays(deployment: Deployment) -> None:
    before, assembly = deployment.state(), deployment.assembly
    deployment.change_sections(availability_zones=["us-east-1b", "us-east-1a"])
    code, _, found = planned(deployment)
    assert (code, {"rejected", "kept"} <= set(found)) == (1, True)
    assert not deployment.cdk.deploy(deployment.assembly, may_fail=True)
    assert any("conflicts with another subnet" in each for each in deployment.events("AWS::EC2::Subnet"))
    deployment.assembly = assembly
    change = difference(before, deployment.state())
    assert (change.added, change.removed, change.replaced) == (set(), set(), set())


@only_default
def test_a_degraded_node_group_is_not_updated(deployment: Deployment) -> None:
    before, assembly, context = deployment.state(), deployment.assembly, dict(deployment.context)
    arns = [
        deployment.aws("eks").describe_nodegroup(clusterName=deployment.cluster, nodegroupName=name)["nodegroup"][
            "nodegroupArn"
        ]
        for name in deployment.aws("eks").list_nodegroups(clusterName=deployment.cluster)["nodegroups"]
    ]
    deployment.change(**{"node_groups.gpu.max_size": "9"})
    for status, code in (("DEGRADED", 1), ("ACTIVE", 0)):
        for arn in arns:
            deployment.aws("eks").tag_resource(resourceArn=arn, tags={STATUS_TAG: status})
        assert planned(deployment)[0] == code
        assert deployment.cdk.deploy(deployment.assembly, may_fail=True) == (code == 0)
    assert any("not in Active state" in each for each in deployment.events(GROUP))
    deployment.assembly, deployment.context = assembly, context
    deployment.deploy()
    sizes = {key: found["ScalingConfig"] for key, (_, found) in deployment.state().items() if key[0] == GROUP}
    assert sizes == {key: found["ScalingConfig"] for key, (_, found) in before.items() if key[0] == GROUP}


@only_block
def test_the_nodes_of_a_capacity_block_leave_it_before_they_are_updated(deployment: Deployment) -> None:
    # The steps that the plan names.
    for key, value in (
        ("desired_size", "1"),
        ("desired_size", "0"),
        ("fast_image_pull", "true"),
        ("desired_size", "1"),
    ):
        deployment.change(**{f"node_groups.gpu.{key}": value})
        deployment.deploy()
    assembly, context = deployment.assembly, dict(deployment.context)
    deployment.change(**{"node_groups.gpu.root_volume_iops": "6000"})
    code, _, found = planned(deployment)
    assert (code, "rejected" in found) == (1, True)
    assert not deployment.cdk.deploy(deployment.assembly, may_fail=True)
    assert any("Nodegroup of a Capacity Block" in each for each in deployment.events(GROUP))
    deployment.assembly, deployment.context = assembly, context


@only_mixed
def test_what_leaves_the_configuration_does_not_lock_the_stacks(deployment: Deployment) -> None:
    """No other section needs the bucket's ARN, which the data stack exports all the same."""
    deployment.emulator.add_object(deployment.cluster, "ConfigMap/research/notebook")
    folders = deployment.config.lustre.model_dump(mode="json") | {"data_repositories": []}
    deployment.change_sections(service_accounts={}, lustre=folders)
    deployment.deploy()
    assert deployment.stacks().of_type("AWS::FSx::DataRepositoryAssociation") == []


@only_mixed
def test_a_namespace_stays_with_what_others_have_in_it(deployment: Deployment) -> None:
    in_research = {each for each in deployment.objects if "/research/" in each or each == "Namespace//research"}
    assert in_research == {"Namespace//research", "ConfigMap/research/notebook"}
    deployment.assembly = deployment.cdk.synth("again", deployment.file, **deployment.context)
    deployment.deploy()
    assert {"ServiceAccount/research/stage-data", "ConfigMap/research/notebook"} <= deployment.objects


@only_default
def test_more_storage_enlarges_the_file_system_in_place(deployment: Deployment) -> None:
    before = deployment.state()
    deployment.emulator.take_applied()
    deployment.change(**{"lustre.capacity_gib": "2400"})
    deployment.deploy()
    change = difference(before, deployment.state())
    assert (change.added, change.removed, change.replaced) == (set(), set(), set())
    # The alarm on free space calculates with the size.
    assert change.types("updated") - {"Custom::AWSCDK-EKS-KubernetesResource"} == {
        "AWS::FSx::FileSystem",
        "AWS::CloudWatch::Alarm",
    }
    (system,) = deployment.stacks().of_type("AWS::FSx::FileSystem")
    assert read(deployment.aws, system)["StorageCapacity"] == 2400
    documents = [each for call in deployment.emulator.take_applied() for each in call["documents"]]
    # That of the jobs, and that of the Job which makes their folders.
    assert [x["spec"]["capacity"]["storage"] for x in documents if x["kind"] == "PersistentVolume"] == ["2400Gi"] * 2


@only_default
def test_a_new_release_updates_cluster_and_nodes_in_place(deployment: Deployment) -> None:
    before = deployment.state()
    assert deployment.context["kubernetes_version"] == OLDER
    deployment.change(kubernetes_version=NEWER)
    deployment.deploy()
    change = difference(before, deployment.state())
    assert {"AWS::EKS::Cluster", "AWS::EKS::Nodegroup"} <= change.types("updated")
    # kubectl of the new release is a new layer; everything else stays where it is.
    assert change.types("replaced") <= {"AWS::Lambda::LayerVersion"}
    assert (change.types("added"), change.types("removed")) == (set(), set())
    stacks = deployment.stacks()
    versions = {
        read(deployment.aws, each)["Version"]
        for type_name in ("AWS::EKS::Cluster", "AWS::EKS::Nodegroup")
        for each in stacks.of_type(type_name)
    }
    assert versions == {NEWER}
    assert deployment.cdk.diff(deployment.assembly) == ""


@only_default
def test_a_failed_change_is_rolled_back(deployment: Deployment) -> None:
    before, left = deployment.state(), deployment.left()
    assembly = deployment.assembly
    deployment.emulator.reject_next("kubectl")
    deployment.emulator.take_applied()
    changed = deployment.cdk.synth(
        "failing",
        deployment.with_sections(
            node_groups={
                "gpu": {"instance_type": "p4d.24xlarge", "max_size": 8},
                "more": {"instance_type": "p3dn.24xlarge"},
            },
            service_accounts={"stage-data": {"prefix": "data", "namespace": "research"}},
        ),
        **{key: value for key, value in deployment.context.items() if not key.startswith("node_groups")},
    )
    assert not deployment.cdk.deploy(changed, may_fail=True)
    (stack,) = deployment.aws("cloudformation").describe_stacks(StackName="TrainingClusterStack")["Stacks"]
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert deployment.assembly == assembly
    change = difference(before, deployment.state())
    # EC2 keeps each version of a launch template; a rollback writes the old one again.
    assert change.types("updated") <= {"AWS::EC2::LaunchTemplate"}
    assert (change.added, change.removed, change.replaced) == (set(), set(), set())
    assert deployment.left() == left
    assert deployment.cdk.diff(assembly) == ""


def test_destroy_leaves_only_what_is_retained(deployment: Deployment) -> None:
    policies = {
        logical_id: resource.get("DeletionPolicy", "Delete")
        for template in deployment.templates.values()
        for logical_id, resource in template["Resources"].items()
    }
    # A namespace is retained in the cluster, which goes.
    retained = [
        each
        for each in deployment.stacks().resources()
        if policies[each.logical_id] != "Delete" and each.type != "Custom::AWSCDK-EKS-KubernetesResource"
    ]
    deployment.cdk.destroy(deployment.assembly, "--all")
    left = {each.partition("/")[2] for each in deployment.left()}
    # A bucket's policy goes and stays with the bucket.
    assert left == {each.physical_id for each in retained if each.type != "AWS::S3::BucketPolicy"}
    assert {each.type for each in retained} <= NAMED_IN_THE_DOCUMENT.keys()
    page = (ROOT / "docs/tear-down.md").read_text().partition("## What stays")[2]
    assert [name for name in NAMED_IN_THE_DOCUMENT.values() if name not in page] == []


def test_every_type_is_read_back_or_named(deployment: Deployment) -> None:
    types = {each["Type"] for template in deployment.templates.values() for each in template["Resources"].values()}
    unread = {each for each in types - READERS.keys() if not each.startswith("Custom::")}
    assert unread <= NOT_READ, f"add a reader of {sorted(unread - NOT_READ)} to tests/deploy/read_back.py"
