"""Each effect that a person must know is found in two templates and the deployed cluster, and no other."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from training_cluster.account.kept_resources import KeptResource
from training_cluster.account.lustre_state import LustreState
from training_cluster.changes.findings import Finding, Jobs, LiveNodeGroup
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.rules import RULES
from training_workloads.aws.errors import NoPermissionError
from training_workloads.catalog.provisioned_storage import LustreStorage
from training_workloads.cluster.failures import ClusterError

HELD, RESUMED = Jobs(held=("digits in default",)), Jobs(others=("digits in default",))


@dataclass
class Cluster:
    """A deployed cluster."""

    group: LiveNodeGroup | None = field(default_factory=lambda: LiveNodeGroup(status="ACTIVE", desired=2))
    jobs: Jobs = field(default_factory=Jobs)
    state: LustreState | None = None
    importing: dict[str, list[str]] = field(default_factory=dict)
    unreadable: bool = False

    def node_group(self, id: str) -> LiveNodeGroup | None:
        return self.group

    def lustre(self, id: str) -> LustreState | None:
        if self.unreadable:
            raise NoPermissionError("fsx:DescribeFileSystems")
        return self.state

    def kept(self, kind: str, id: str) -> KeptResource:
        priced = kind == "AWS::EFS::FileSystem"
        return KeptResource(kind=kind, id=id, gib=1.5 if priced else None, usd_per_month=0.45 if priced else None)

    def importers(self, export: str) -> list[str]:
        return self.importing.get(export, [])

    def jobs_on(self, group: str) -> Jobs:
        return self.jobs

    def jobs_in(self, namespace: str | None) -> tuple[str, ...]:
        if self.unreadable:
            raise ClusterError("no kubeconfig")
        return self.jobs.all


def resource(kind: str, attributes: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties, **(attributes or {})}


def group(size: int = 4, desired: int = 0, **properties: Any) -> dict[str, Any]:
    template = {"Id": {"Ref": "Template"}, "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}}
    sizes = {"MinSize": 0, "MaxSize": size, "DesiredSize": desired}
    labels = {"training-cluster/node-group": "gpu"}
    return resource("AWS::EKS::Nodegroup", LaunchTemplate=template, ScalingConfig=sizes, Labels=labels, **properties)


def launch_template(type_: str = "p4d.24xlarge", **data: Any) -> dict[str, Any]:
    return resource("AWS::EC2::LaunchTemplate", LaunchTemplateData={"InstanceType": type_, **data})


def subnet(zone: str, addresses: str) -> dict[str, Any]:
    return resource("AWS::EC2::Subnet", AvailabilityZone=zone, CidrBlock=addresses, VpcId={"Ref": "Vpc"})


def lustre(capacity: int = 1200, zone: str = "a", **configuration: Any) -> dict[str, Any]:
    return resource(
        "AWS::FSx::FileSystem", StorageCapacity=capacity, SubnetIds=[zone], LustreConfiguration=configuration
    )


def manifest(*documents: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    return resource("Custom::AWSCDK-EKS-KubernetesResource", attributes, Manifest=json.dumps(documents))


def volume(handle: str, size: str = "1200Gi") -> dict[str, Any]:
    spec = {"capacity": {"storage": size}, "csi": {"volumeHandle": handle}}
    return {"kind": "PersistentVolume", "metadata": {"name": "training-lustre"}, "spec": spec}


def object_(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}}


def of_templates(old: dict[str, Any], new: dict[str, Any], live: Cluster | None = None) -> list[Finding]:
    stack = PlannedStack(name="TrainingClusterStack", deployed=None, old=old, new=new)
    return [found for rule in RULES for found in rule(stack, live or Cluster())]


def findings(old: dict[str, Any], new: dict[str, Any], live: Cluster | None = None) -> list[Finding]:
    return of_templates({"Resources": old}, {"Resources": new}, live)


def outcomes(old: dict[str, Any], new: dict[str, Any], live: Cluster | None = None) -> list[str]:
    return [each.outcome for each in findings(old, new, live)]


NODES = {"Template": launch_template(), "Group": group()}


@pytest.mark.parametrize(
    ("new", "live", "expected"),
    [
        (NODES, Cluster(jobs=HELD), []),
        ({**NODES, "Group": group(8)}, Cluster(group=LiveNodeGroup(status="ACTIVE", desired=0)), []),
        ({**NODES, "Group": group(8)}, Cluster(), ["stops"]),
        ({**NODES, "Group": group(8, desired=2)}, Cluster(), []),
        ({**NODES, "Template": launch_template(UserData="x")}, Cluster(), ["stops"]),
        ({**NODES, "Template": launch_template(UserData="x")}, Cluster(jobs=RESUMED), ["stops"]),
        ({**NODES, "Template": launch_template(UserData="x")}, Cluster(jobs=HELD), ["rejected"]),
        ({**NODES, "Template": launch_template(UserData="x")}, Cluster(group=None), []),
        ({"Template": launch_template(UserData="x"), "Group": group(8, desired=2)}, Cluster(), ["rejected", "stops"]),
        ({**NODES, "Group": group(8, 2)}, Cluster(group=LiveNodeGroup(status="DEGRADED", desired=1)), ["rejected"]),
        ({"Template": launch_template()}, Cluster(jobs=HELD), ["stops"]),
        ({"Template": launch_template()}, Cluster(group=LiveNodeGroup(status="ACTIVE", desired=0)), []),
        ({**NODES, "Group": group(CapacityType="SPOT")}, Cluster(), ["stops"]),
    ],
)
def test_an_update_of_a_node_group(new: dict[str, Any], live: Cluster, expected: list[str]) -> None:
    assert outcomes(NODES, new, live) == expected


def test_a_launch_template_of_another_stack() -> None:
    old, new = {"Group": group()}, {"Group": group()}
    for each in (old, new):
        each["Group"]["Properties"]["LaunchTemplate"] = {"Id": "lt-0123456789abcdef0", "Version": "1"}
    new["Group"]["Properties"]["CapacityType"] = "SPOT"
    (found,) = findings(old, new)
    assert found.subject == "node group 'gpu' of an unknown type"


def test_the_nodes_of_a_capacity_block_are_not_updated_one_after_the_other() -> None:
    old = {**NODES, "Group": group(CapacityType="CAPACITY_BLOCK")}
    new = {**old, "Template": launch_template(UserData="x")}
    assert outcomes(old, new) == ["rejected", "stops"]
    assert outcomes(old, new, Cluster(group=LiveNodeGroup(status="ACTIVE", desired=0))) == []


def test_words_of_a_node_group() -> None:
    changed = {"Template": launch_template(UserData="x"), "Group": group(8, desired=2)}
    rejected, stops = findings(NODES, changed, Cluster(jobs=RESUMED))
    assert rejected.subject == "node group 'gpu' of p4d.24xlarge"
    assert set(rejected.keys) == {
        "node_groups.gpu.fast_image_pull",
        "node_groups.gpu.max_size",
        "node_groups.gpu.desired_size",
    }
    assert rejected.steps == (
        "deploy the new values of node_groups.gpu.desired_size, node_groups.gpu.max_size, with "
        "node_groups.gpu.fast_image_pull as deployed: no node is replaced",
        "deploy the new values of node_groups.gpu.fast_image_pull: the nodes are replaced one after the other",
    )
    assert stops.jobs == ("digits in default",)
    assert stops.effect == "its 2 nodes are replaced one after the other, with digits in default"
    (new,) = findings(NODES, {"Template": launch_template("p5.48xlarge"), "New": group()})
    assert new.effect == "a new group takes its place: its 2 nodes stop"


def reserved_template(type_: str) -> dict[str, Any]:
    return launch_template(type_, CapacityReservationSpecification={"CapacityReservationTarget": {}})


NAMED = Jobs(others=("digits in default",), by_type=("digits in default",))


def test_another_kind_of_node_is_made_beside_the_deployed_one_where_jobs_run() -> None:
    new = {"Template": launch_template("p5.48xlarge"), "New": group()}
    (found,) = findings(NODES, new, Cluster(jobs=NAMED))
    assert found.effect == (
        "a new group takes its place: its 2 nodes stop, with digits in default; digits in default names the deployed "
        "type or group, and then waits for ever"
    )
    assert found.steps[0] == ("leave gpu as deployed, add a node group of another name with the new values, and deploy")
    # The same type: the job resumes. No job: one deployment makes it.
    (same,) = findings(NODES, {"Template": launch_template(), "New": group()}, Cluster(jobs=NAMED))
    assert "for ever" not in same.effect
    (idle,) = findings(NODES, new)
    assert idle.steps == ()


def test_a_job_of_a_group_that_goes_waits_for_ever() -> None:
    jobs = Jobs(others=("digits in default",), by_group=("digits in default",))
    (found,) = findings(NODES, {"Template": launch_template()}, Cluster(jobs=jobs))
    assert found.effect.startswith("deleted: its 2 nodes stop")
    assert (found.effect.endswith("and then waits for ever"), found.steps) == (True, ())


def test_a_reservation_has_no_room_for_both_groups() -> None:
    old = {"Template": reserved_template("p4d.24xlarge"), "Group": group()}
    (found,) = findings(old, {"Template": reserved_template("p5.48xlarge"), "New": group()})
    assert found.steps[1].startswith("set its min_size and desired_size to 0, leave everything else as deployed")


def test_a_loss_is_found_where_the_cluster_cannot_be_read() -> None:
    system = {"Lustre": lustre()}
    (found,) = findings(system, {}, Cluster(unreadable=True))
    assert found.outcome == "lost"
    assert "cannot be read: your role may not fsx:DescribeFileSystems" in found.effect
    (found,) = findings({"Cluster": resource("AWS::EKS::Cluster")}, {}, Cluster(unreadable=True))
    assert (found.outcome, found.effect[-44:]) == ("lost", "Kubernetes (its jobs cannot be read: no kubeconfig)"[-44:])
    (found,) = findings({"Cluster": resource("AWS::EKS::Cluster")}, {}, Cluster(jobs=HELD))
    assert found.effect.endswith("(digits in default ends)")


NETWORK = {"Vpc": resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16"), "One": subnet("a", "10.0.0.0/18")}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (NETWORK, []),
        # Another zone with the same addresses, alone and beside a subnet that stays.
        ({**NETWORK, "One": subnet("b", "10.0.0.0/18")}, ["rejected"]),
        ({**NETWORK, "Two": subnet("b", "10.0.32.0/19")}, ["rejected"]),
        ({**NETWORK, "Two": subnet("b", "10.0.64.0/18")}, []),
        # In a new VPC all addresses are free.
        ({"Vpc": resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/17"), "One": subnet("b", "10.0.0.0/18")}, []),
    ],
)
def test_addresses_of_a_subnet(new: dict[str, Any], expected: list[str]) -> None:
    assert outcomes(NETWORK, new) == expected


def test_a_cluster_stays_in_its_vpc() -> None:
    cluster = resource("AWS::EKS::Cluster", Name="training", ResourcesVpcConfig={"SubnetIds": [{"Ref": "One"}]})
    new = {"Vpc": resource("AWS::EC2::VPC", CidrBlock="10.1.0.0/16"), "One": subnet("a", "10.1.0.0/18")}
    (found,) = findings({**NETWORK, "Cluster": cluster}, {**new, "Cluster": cluster})
    assert (found.outcome, found.keys) == ("rejected", ("vpc_cidr",))
    assert outcomes({**NETWORK, "Cluster": cluster}, {**NETWORK, "Cluster": cluster}) == []


def test_a_name_is_taken_until_the_deployed_resource_is_gone() -> None:
    old = {"Cluster": resource("AWS::EKS::Cluster", Name="training", RoleArn="a")}
    new = {"Cluster": resource("AWS::EKS::Cluster", Name="training", RoleArn="b")}
    lost, rejected = findings(old, new)
    assert (lost.outcome, rejected.outcome) == ("lost", "rejected")
    assert rejected.effect == "can only be replaced, and its name 'training' is taken until it is deleted"
    # Its add-ons have their names in the new cluster, and a name that is a function is not shown.
    addon = {"Addon": resource("AWS::EKS::Addon", AddonName="coredns", ClusterName={"Ref": "Cluster"})}
    assert outcomes({**old, **addon}, {**new, **addon}) == ["lost", "rejected"]
    for each in (old, new):
        each["Cluster"]["Properties"]["Name"] = {"Fn::Join": ["-", ["training", {"Ref": "AWS::Region"}]]}
    assert findings(old, new)[1].effect == "can only be replaced, and its name is taken until it is deleted"
    table = {"Log": resource("AWS::Logs::LogGroup", LogGroupName="a")}
    assert outcomes(table, {"Log": resource("AWS::Logs::LogGroup", LogGroupName="b")}) == ["lost"]


def state(**values: Any) -> LustreState:
    given = {"lifecycle": "AVAILABLE", "capacity_gib": 1200, "used_percent": 10.0, "broken": (), "tasks": 0}
    storage = LustreStorage(gib=1200, deployment_type="PERSISTENT_2", mbps_per_tib=125)
    return LustreState(id="fs-1", storage=storage, **{**given, "export_lag_seconds": 0, "exports": 1, **values})


@pytest.mark.parametrize(
    ("live", "words"),
    [
        (None, "changes that were not exported"),
        (state(), "not exported (none waits for its export)"),
        (state(export_lag_seconds=60), "not exported (the oldest change waits for its export for 60 s)"),
        (
            state(export_lag_seconds=None),
            "not exported (CloudWatch has no value of how long changes wait for their export)",
        ),
        (state(exports=0), "changes that were not exported"),
    ],
)
def test_a_replaced_file_system_takes_its_files(live: LustreState | None, words: str) -> None:
    old, new = {"Lustre": lustre(DeploymentType="PERSISTENT_2")}, {"Lustre": lustre(DeploymentType="SCRATCH_2")}
    (found,) = findings(old, new, Cluster(state=live))
    assert (found.outcome, found.keys) == ("lost", ("lustre.deployment_type",))
    assert found.effect.endswith(words)
    (kept,) = findings(old, {"Lustre": new["Lustre"] | {"UpdateReplacePolicy": "Retain"}}, Cluster(state=live))
    assert (kept.outcome, kept.keys) == ("kept", ("lustre.deployment_type",))
    assert kept.effect.startswith("replaced; the deployed one is kept, not deleted: the new one begins without files")
    assert "'aws fsx delete-file-system --file-system-id Lustre'" in kept.effect
    # A policy keeps it where it is replaced; removed, it is deleted.
    assert outcomes({"Lustre": old["Lustre"] | {"UpdateReplacePolicy": "Retain"}}, {}) == ["lost"]


def test_a_bucket_that_is_replaced_and_kept_is_named() -> None:
    old, new = ({"Data": resource("AWS::S3::Bucket", {"UpdateReplacePolicy": "Retain"}, BucketName=n)} for n in "ab")
    (kept,) = findings(old, new)
    assert (kept.outcome, kept.remedy) == ("kept", "copy what you need, and delete it by hand when nothing uses it")
    assert kept.effect.endswith("it stays outside the stack, and is billed")


def test_a_file_system_grows_only() -> None:
    assert outcomes({"Lustre": lustre(1200)}, {"Lustre": lustre(2400)}) == []
    (found,) = findings({"Lustre": lustre(4800)}, {"Lustre": lustre(2400)})
    assert (found.outcome, found.remedy) == ("rejected", "keep 4800 GiB, or more")


def test_a_folder_has_one_data_repository() -> None:
    def repository(path: str, folder: str = "/", system: Any = None) -> dict[str, Any]:
        given: dict[str, Any] = {
            "FileSystemPath": folder,
            "DataRepositoryPath": path,
            "FileSystemId": system or {"Ref": "Lustre"},
        }
        return {"Lustre": lustre(), "Link": resource("AWS::FSx::DataRepositoryAssociation", **given)}

    assert outcomes(repository("s3://a"), repository("s3://b")) == ["rejected"]
    assert outcomes(repository("s3://a", "/a"), repository("s3://a", "/b")) == []
    assert outcomes(repository("s3://a", system="fs-1"), repository("s3://b", system="fs-1")) == ["rejected"]
    on_new = repository("s3://b") | {"Lustre": lustre(zone="b")}
    assert outcomes(repository("s3://a"), on_new) == ["lost"]


@pytest.mark.parametrize("kind", ["Namespace", "CustomResourceDefinition"])
def test_objects_that_take_others_with_them(kind: str) -> None:
    old = {"Manifest": manifest(object_(kind, "team"), object_("ConfigMap", "a"))}
    (found,) = findings(old, {})
    assert (found.outcome, found.subject) == ("lost", f"{kind} 'team'")
    # An object that a manifest has no longer is deleted by its label only, and a definition never.
    assert outcomes(old, {"Manifest": manifest(object_("ConfigMap", "a"))}) == []
    pruned = manifest(object_("ConfigMap", "a"))
    pruned["Properties"]["PruneLabel"] = "aws.cdk.eks/prune-1"
    assert outcomes(old, {"Manifest": pruned}) == (["lost"] if kind == "Namespace" else [])
    assert outcomes(old, {"Manifest": manifest(object_(kind, "team"))}) == []
    assert outcomes({"Manifest": manifest(object_(kind, "team"), DeletionPolicy="Retain")}, {}) == []


def test_the_source_of_a_volume_does_not_change() -> None:
    old = {"Volume": manifest(volume("fs-1"))}
    assert outcomes(old, {"Volume": manifest(volume("fs-1", "2400Gi"))}) == []
    assert outcomes(old, {"Volume": manifest(volume("fs-2"))}) == ["rejected"]


def test_an_object_that_moves_to_another_manifest_is_made_before_the_deployed_one_is_deleted() -> None:
    old = {"A": manifest(object_("ServiceAccount", "trainer"))}
    (found,) = findings(old, {"B": manifest(object_("ServiceAccount", "trainer"))})
    assert (found.outcome, found.subject) == ("rejected", "ServiceAccount 'trainer'")
    assert outcomes(old, {"B": manifest(object_("ServiceAccount", "other"))}) == []
    over = {"B": manifest(object_("ServiceAccount", "trainer"))}
    over["B"]["Properties"]["Overwrite"] = True
    assert outcomes(old, over) == ["lost"]
    assert outcomes({"A": old["A"] | {"DeletionPolicy": "Retain"}}, over) == []


@pytest.mark.parametrize(
    ("release", "expected"), [("kueue", ["lost"]), ("cluster-autoscaler", []), ("kuberay", ["unknown"])]
)
def test_a_release_takes_the_definitions_of_its_chart_with_it(release: str, expected: list[str]) -> None:
    old = {"Chart": resource("Custom::AWSCDK-EKS-HelmChart", Release=release, Namespace="platform", Values="a")}
    assert outcomes(old, {}) == expected
    assert outcomes({"Chart": old["Chart"] | {"DeletionPolicy": "Retain"}}, {}) == []
    assert outcomes(old, {"Chart": resource("Custom::AWSCDK-EKS-HelmChart", Release=release, Values="b")}) == []


def test_cloudformation_keeps_the_type_and_the_function_of_a_resource() -> None:
    one, other = ({"A": resource(kind)} for kind in ("Custom::One", "Custom::Other"))
    assert outcomes(one, other) == ["rejected"]
    old, new = ({"A": resource("Custom::One", ServiceToken=function)} for function in ("arn:1", "arn:2"))
    (found,) = findings(old, new)
    assert (found.outcome, found.effect) == (
        "rejected",
        "its function changes (ServiceToken), which CloudFormation does not allow",
    )
    # A function that is replaced has another ARN.
    custom = resource("Custom::One", ServiceToken={"Fn::GetAtt": ["F", "Arn"]})
    first, second = ({"F": resource("AWS::Lambda::Function", FunctionName=name), "A": custom} for name in "ab")
    assert outcomes(first, second) == ["rejected"]
    assert outcomes(old, {}) == []


def test_a_volume_follows_a_file_system_that_is_replaced() -> None:
    text = json.dumps([volume("ID")])
    joined: dict[str, Any] = {"Fn::Join": ["", [text.partition("ID")[0], {"Ref": "Lustre"}, text.partition("ID")[2]]]}
    mounted = resource("Custom::AWSCDK-EKS-KubernetesResource", Manifest=joined)
    old, new = ({"Lustre": lustre(zone=zone), "Volume": mounted} for zone in "ab")
    assert outcomes(old, new) == ["lost", "rejected"]
    assert outcomes(old, old) == []


def test_an_export_that_another_stack_imports_stays() -> None:
    with_export = {"Outputs": {"A": {"Export": {"Name": "stack:a"}}}}
    live = Cluster(importing={"stack:a": ["Other"]})
    (found,) = of_templates(with_export, {}, live)
    assert (found.outcome, found.subject, found.effect) == ("rejected", "export stack:a", "Other imports it")
    assert of_templates(with_export, {}) == []
    named = {"Outputs": {"A": {"Export": {"Name": {"Fn::Sub": "${AWS::StackName}-a"}}}}}
    (found,) = of_templates(named, {}, Cluster(importing={"TrainingClusterStack-a": ["Other"]}))
    assert found.subject == "export TrainingClusterStack-a"
    assert of_templates(with_export, with_export, live) == []


def test_a_module_has_a_title() -> None:
    stack = PlannedStack(name="A", deployed=None, old={}, new={"Resources": {"M": resource("My::S3::Bucket::MODULE")}})
    assert [stack.title(each) for each in stack.changes] == ["S3 Bucket M"]


def test_a_nested_stack_is_not_compared() -> None:
    old, new = ({"Nested": resource("AWS::CloudFormation::Stack", TemplateURL=url)} for url in "ab")
    (found,) = findings(old, new)
    assert (found.outcome, found.subject) == ("unknown", "CloudFormation Stack Nested")
    assert outcomes(old, old) == []


def test_a_parameter_keeps_its_deployed_value() -> None:
    old, new = ({"Parameters": {"Size": {"Type": "Number", "Default": size}}} for size in (1, 2))
    (found,) = of_templates(old, new)
    assert (found.outcome, found.subject) == ("unknown", "parameter Size")
    assert of_templates(old, {}) == []


def test_a_condition_decides_whether_a_resource_exists() -> None:
    bucket = resource("AWS::S3::Bucket", {"Condition": "Here"})
    conditions = {"Here": {"Fn::Not": [{"Condition": "There"}]}, "There": {"Fn::Equals": ["a", "a"]}}
    old = {"Conditions": conditions, "Resources": {"Data": bucket}}
    new = old | {"Conditions": conditions | {"There": {"Fn::Equals": ["a", "b"]}}}
    (found,) = of_templates(old, new)
    assert (found.outcome, found.effect) == ("unknown", "it changes, and decides whether Data exist")
    assert of_templates(old, old) == []


def test_volumes_need_their_driver() -> None:
    (found,) = findings({"Ebs": resource("AWS::EKS::Addon", AddonName="aws-ebs-csi-driver")}, {})
    assert (found.outcome, found.subject, found.keys) == ("stops", "add-on aws-ebs-csi-driver", ("ebs",))
    assert outcomes({"A": resource("AWS::EKS::Addon", AddonName="coredns")}, {}) == []


@pytest.mark.parametrize(
    ("one", "keys"),
    [
        (group(), ("node_groups.gpu",)),
        (lustre(), ("lustre",)),
        (resource("Custom::AWSCDK-EKS-HelmChart", Release="kueue"), ("job_queue",)),
        (resource("AWS::IAM::Role"), ()),
    ],
)
def test_a_resource_that_is_made_or_goes_has_its_key(one: dict[str, Any], keys: tuple[str, ...]) -> None:
    for old, new in (({}, {"A": one}), ({"A": one}, {})):
        stack = PlannedStack(name="A", deployed=None, old={"Resources": old}, new={"Resources": new})
        assert [stack.keys(each) for each in stack.changes] == [keys]
