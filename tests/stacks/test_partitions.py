"""A whole cluster in GovCloud and in China: names, addresses and registries are of the partition."""

import json
import re
from functools import cache
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from stacks import TrainingClusterStack, TrainingDataStack
from training_cluster import ClusterConfig, EfaDevicePlugin, TrainingCluster, TrainingNetwork
from training_workloads import InputError

EFA_PLUGIN = {
    "us-gov-west-1": "013241004608.dkr.ecr.us-gov-west-1.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    "cn-north-1": "918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/eks/aws-efa-k8s-device-plugin",
    "eu-south-1": "590381155156.dkr.ecr.eu-south-1.amazonaws.com/eks/aws-efa-k8s-device-plugin",
}


@cache
def stacks(region: str) -> list[Any]:
    """Return the templates of a cluster with EFA, a queue, a service account and alarms."""
    app, env = cdk.App(), cdk.Environment(account="111122223333", region=region)
    data = TrainingDataStack(app, "TrainingDataStack", env=env)
    values: dict[str, Any] = {
        "availability_zones": [f"{region}a", f"{region}b"],
        "node_groups": {"gpu": {"instance_type": "p4d.24xlarge"}},
        "service_accounts": {"trainer": {"prefix": "runs"}},
        "gpu_details": True,
        "alarm_email": "team@example.com",
    }
    config = ClusterConfig(**values)
    cluster = TrainingClusterStack(
        app, "TrainingClusterStack", env=env, config=config, bucket=data.bucket, encryption_key=data.key
    )
    return [assertions.Template.from_stack(each).to_json() for each in (data, cluster)]


def conditions(value: Any, key: str) -> list[Any]:
    """Return the values of a key at any depth."""
    if isinstance(value, list):
        return [found for each in value for found in conditions(each, key)]
    if not isinstance(value, dict):
        return []
    here = [value[key]] if key in value else []
    return here + [found for each in value.values() for found in conditions(each, key)]


@pytest.mark.parametrize("region", EFA_PLUGIN)
def test_the_efa_plugin_comes_from_the_registry_of_the_region(region: str) -> None:
    text = json.dumps(stacks(region))
    assert set(re.findall(r"[0-9]{12}\.dkr\.ecr\.[a-z0-9.-]+/eks/[a-z0-9-]+", text)) == {EFA_PLUGIN[region]}


@pytest.mark.parametrize("region", EFA_PLUGIN)
def test_no_arn_and_no_address_of_a_service_is_of_another_partition(region: str) -> None:
    services = [each["Fn::Join"][1][-1] for each in conditions(stacks(region), "kms:ViaService")]
    assert services
    assert all(each == {"Ref": "AWS::URLSuffix"} for each in services)
    logs = [each for each in conditions(stacks(region), "Service") if "logs." in json.dumps(each)]
    assert [each["Fn::Join"][1][-1] for each in logs if isinstance(each, dict)].count({"Ref": "AWS::URLSuffix"}) >= 1
    assert not re.search(r"arn:aws[a-z-]*:", json.dumps(stacks(region)))


def test_a_stack_that_does_not_know_its_region_looks_the_registry_up() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster = TrainingCluster(stack, "Cluster", vpc=TrainingNetwork(stack, "Network"))
    EfaDevicePlugin(stack, "Plugin", cluster=cluster)
    ((name, registries),) = assertions.Template.from_stack(stack).to_json()["Mappings"].items()
    assert name == "PluginRegistries8C78D2C1"
    assert registries["us-gov-east-1"] == {"Address": "151742754352.dkr.ecr.us-gov-east-1.amazonaws.com"}
    # No row in EKS's table: another region of the same partition.
    assert registries["sa-west-1"] == {"Address": "602401143452.dkr.ecr.us-west-2.amazonaws.com"}


def in_iso(**group: Any) -> dict[str, Any]:
    groups = {"gpu": {"instance_type": "p4d.24xlarge", **group}}
    return {"availability_zones": ["us-iso-east-1a", "us-iso-east-1b"], "node_groups": groups}


def test_rejects_efa_without_a_mirror_where_no_registry_is_known() -> None:
    with pytest.raises(InputError) as caught:
        ClusterConfig(**in_iso())
    assert str(caught.value) == (
        "'mirror' is missing, but no registry of EKS is known in us-iso-east-1, and its nodes cannot pull the EFA "
        "plugin from another partition; give an ECR registry of the region with a copy ('trainctl platform "
        "mirror-commands'), or set efa: false in each node group"
    )
    assert ClusterConfig(**in_iso(efa=False))
    assert ClusterConfig(**in_iso(), mirror="111122223333.dkr.ecr.us-iso-east-1.c2s.ic.gov")
