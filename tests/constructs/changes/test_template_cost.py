from typing import Any

from tests.stacks.templates import templates
from training_cluster.changes.template_cost import template_cost


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


CLUSTER = resource("AWS::EKS::Cluster", Version="1.35")


def total(**resources: Any) -> str:
    estimate = template_cost({"Resources": {"Cluster": CLUSTER, **resources}})
    assert estimate
    return estimate.total


def test_the_price_of_a_template_is_that_of_its_output() -> None:
    for name in ("p3dn-without-efa", "p5-capacity-block", "p6-b300"):
        template = templates(name)["TrainingClusterStack"].to_json()
        estimate = template_cost(template)
        assert estimate
        said = template["Outputs"]["EstimatedCostPerHour"]["Value"]
        assert said.startswith(f"{estimate.total} as deployed; ")


def test_a_stack_without_a_cluster_has_no_price_by_the_hour() -> None:
    assert template_cost({}) is None
    assert template_cost({"Resources": {"Bucket": resource("AWS::S3::Bucket")}}) is None


def test_lustre_costs_by_its_class() -> None:
    kind: dict[str, Any] = {"DeploymentType": "SCRATCH_2"}
    system = resource("AWS::FSx::FileSystem", StorageCapacity=1200, LustreConfiguration=kind)
    assert total(Lustre=system) == "0.33 USD"
    kind = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
    system = resource("AWS::FSx::FileSystem", StorageCapacity=1200, LustreConfiguration=kind)
    assert total(Lustre=system) == "0.10 USD + Lustre PERSISTENT_2 of 1200 GiB at 250 MB/s per TiB without a price"


def test_nodes_of_an_own_type_and_of_a_size_that_is_a_parameter() -> None:
    def group(size: Any) -> dict[str, Any]:
        scaling = {"DesiredSize": size}
        return resource("AWS::EKS::Nodegroup", InstanceTypes=["x9.huge"], ScalingConfig=scaling)

    assert total(Group=group(2)) == "0.10 USD + x9.huge without a price"
    assert total(Group=group({"Ref": "Size"})) == "0.10 USD"


def test_gateway_endpoints_cost_nothing() -> None:
    gateway = resource("AWS::EC2::VPCEndpoint", VpcEndpointType="Gateway")
    interface = resource("AWS::EC2::VPCEndpoint", VpcEndpointType="Interface", SubnetIds=["a", "b"])
    assert total(Gateway=gateway, Interface=interface) == "0.12 USD"


def test_values_that_only_the_deployment_knows_are_without_a_price() -> None:
    late = {"Ref": "Value"}
    assert template_cost({"Resources": {"Cluster": resource("AWS::EKS::Cluster", Version=late)}}) is not None
    volume = {"VolumeType": "gp3", "VolumeSize": late, "Throughput": 125, "Iops": 3000}
    data = {"InstanceType": "x9.huge", "BlockDeviceMappings": [{"Ebs": volume}]}
    group = resource("AWS::EKS::Nodegroup", LaunchTemplate={"Id": {"Ref": "T"}}, ScalingConfig={"DesiredSize": 1})
    template = resource("AWS::EC2::LaunchTemplate", LaunchTemplateData=data)
    assert total(Group=group, T=template) == "0.10 USD + x9.huge without a price"
