from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.constructs.site import properties
from training_cluster import TrainingCluster, TrainingNetwork
from training_cluster.nodes.system_nodes_spec import SystemNodesSpec
from training_workloads import InputError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"instance_type": "large"},
            "'instance_type' is 'large'; give an EC2 type with x86 processors, such as m5.xlarge or m7i.xlarge",
        ),
        (
            {"instance_type": "m7g.xlarge"},
            "'instance_type' is 'm7g.xlarge', but it has Arm processors, and the AMI of the system nodes is for x86; "
            "give another one, such as m5.xlarge or m7i.xlarge",
        ),
        (
            {"instance_type": "t3.medium"},
            "'instance_type' is 't3.medium', but the launchers and the cluster's services do not fit on it; give a "
            "larger one, such as m5.xlarge or m7i.xlarge",
        ),
        (
            {"instance_type": "g5.xlarge"},
            "'instance_type' is 'g5.xlarge', but it has GPUs, which no system node needs; define it in node_groups, "
            "and give m5.xlarge or m7i.xlarge",
        ),
        ({"min_size": 1}, "'min_size' is 1; give 2 or more"),
        (
            {"min_size": 4, "max_size": 3},
            "'min_size' is 4, but max_size is 3; lower the one or raise the other",
        ),
    ],
)
def test_rejects_nodes_on_which_the_services_do_not_run(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        SystemNodesSpec(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["a1.xlarge", "c7gn.xlarge", "im4gn.xlarge", "x2gd.xlarge"])
def test_every_family_with_arm_is_rejected(kind: str) -> None:
    with pytest.raises(InputError, match="Arm processors"):
        SystemNodesSpec(instance_type=kind)


@pytest.mark.parametrize("kind", ["m6i.xlarge", "c6in.2xlarge", "m7i-flex.large", "r5.large", "z1d.xlarge"])
def test_other_families_are_accepted(kind: str) -> None:
    assert SystemNodesSpec(instance_type=kind).maximum == 3


def test_the_cluster_has_them() -> None:
    stack = cdk.Stack(cdk.App(), "Site")
    given = SystemNodesSpec(instance_type="m6i.2xlarge", min_size=3, max_size=6)
    TrainingCluster(stack, "Cluster", vpc=TrainingNetwork(stack, "Network"), system_nodes=given)
    (group,) = properties(assertions.Template.from_stack(stack), "AWS::EKS::Nodegroup")
    assert group["InstanceTypes"] == ["m6i.2xlarge"]
    assert group["ScalingConfig"] == {"MinSize": 3, "DesiredSize": 3, "MaxSize": 6}
