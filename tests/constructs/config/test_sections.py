import inspect
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from training_cluster import NodeRepair, NodeRepairOverride, TrainingCluster
from training_cluster.config import (
    ClusterConfig,
    DataRepositoryConfig,
    GpuNodeGroupConfig,
    JobQueueConfig,
    LustreConfig,
    NodeRepairConfig,
    NodeRepairOverrideConfig,
    ServiceAccountConfig,
)
from training_cluster.storage.data_repository import DataRepository
from training_workloads import InputError
from training_workloads.validation import dotted


def paths(section: Any, **values: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        section(**values)
    return [dotted(problem.path) for problem in error.value.problems]


def test_a_node_group_gives_the_keywords_of_the_construct() -> None:
    group = GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=4, availability_zone="us-east-1a")
    assert group.props() == {
        "instance_type": "p4d.24xlarge",
        "min_size": 0,
        "max_size": 4,
        "capacity_type": "ON_DEMAND",
        "fast_image_pull": False,
        "ssm": False,
    }
    assert group.spec.maximum == 4


def test_a_service_account_gives_the_keywords_of_the_construct() -> None:
    account = ServiceAccountConfig(prefix="runs", allow_delete=True)
    assert account.props() == {"prefix": "runs", "namespace": "default", "allow_delete": True}


def test_lustre_gives_the_keywords_of_the_construct() -> None:
    lustre = LustreConfig(capacity_gib=2400, data_repositories=(DataRepositoryConfig(path="/data", prefix="data/"),))
    assert lustre.props() == {
        "deployment_type": "PERSISTENT_2",
        "capacity": 2400,
        "efa": False,
        "data_repositories": (DataRepository(path="/data", prefix="data/"),),
    }
    assert lustre.spec.mbps_per_tib == 125


@pytest.mark.parametrize(
    ("section", "method", "others"),
    [
        (
            GpuNodeGroupConfig(instance_type="p4d.24xlarge", node_repair=NodeRepairConfig()),
            TrainingCluster.add_gpu_node_group,
            {"subnet", "efa_security_group"},
        ),
        (JobQueueConfig(), TrainingCluster.add_job_queue, {"mirror"}),
        (LustreConfig(), TrainingCluster.add_lustre, {"bucket", "claim", "mirror", "subnet"}),
        (
            ServiceAccountConfig(prefix="runs"),
            TrainingCluster.add_job_identity,
            {"bucket", "encryption_key", "service_account"},
        ),
    ],
)
def test_the_file_has_a_key_for_each_keyword(section: Any, method: Callable[..., Any], others: set[str]) -> None:
    """Apart from those that the complete cluster gives."""
    keywords = set(inspect.signature(method).parameters) - {"self", "id"}
    assert set(section.props()) <= keywords
    keys = set(type(section).model_fields) - {"availability_zone", "further_zones"}
    assert {key.removesuffix("_gib") for key in keys} == keywords - others


def test_a_section_has_the_rules_of_its_construct() -> None:
    assert paths(GpuNodeGroupConfig, instance_type="p3dn.24xlarge", min_size=5, max_size=2) == ["min_size"]
    assert paths(LustreConfig, capacity_gib=1000) == ["capacity_gib"]
    assert paths(DataRepositoryConfig, path="data") == ["path"]
    assert paths(JobQueueConfig, queue_name="My Queue", max_jobs=0) == ["queue_name", "max_jobs"]
    count = {"max_unhealthy_node_threshold_count": 2, "max_unhealthy_node_threshold_percentage": 20}
    assert paths(NodeRepairConfig, **count) == ["max_unhealthy_node_threshold_count"]
    assert paths(NodeRepairOverrideConfig, condition="Ready", reason="Gone", action="Wait") == ["condition", "action"]
    assert paths(ServiceAccountConfig, prefix="runs/*", namespace="My Jobs") == ["prefix", "namespace"]


def test_node_repair_is_what_the_construct_takes() -> None:
    override = {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID64Error", "action": "Replace"}
    group = {"instance_type": "p4d.24xlarge", "node_repair": {"overrides": [override]}}
    config = ClusterConfig.model_validate({"node_groups": {"gpu": group}})
    expected = NodeRepairOverride(condition="AcceleratedHardwareReady", reason="NvidiaXID64Error", action="Replace")
    assert config.node_groups["gpu"].props()["node_repair"] == NodeRepair(overrides=(expected,))
    assert NodeRepairConfig().spec == NodeRepair()


@pytest.mark.parametrize(
    ("given", "section"),
    [
        (True, JobQueueConfig()),
        ({}, JobQueueConfig()),
        ({"queue_name": "research"}, JobQueueConfig(queue_name="research")),
        (False, None),
        (None, None),
    ],
)
def test_a_queue_can_have_its_defaults_by_true(given: Any, section: JobQueueConfig | None) -> None:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}}
    assert ClusterConfig.model_validate({"node_groups": groups, "job_queue": given}).job_queue == section


def test_a_mistake_in_the_queue_has_its_path() -> None:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}}
    assert paths(ClusterConfig, node_groups=groups, job_queue={"max_jobs": 0}) == ["job_queue.max_jobs"]
    assert paths(ClusterConfig, node_groups=groups, job_queue="yes") == ["job_queue"]


def test_the_whole_bucket_must_be_meant() -> None:
    assert paths(ServiceAccountConfig, prefix="") == ["prefix"]
    assert ServiceAccountConfig(prefix="/").prefix == "/"


def test_the_path_of_a_mistake_begins_at_the_outermost_section() -> None:
    groups = {"gpu": {"instance_type": "g5.xlarge", "efa": True}, "b": {"instance_type": 5}}
    lustre = {"data_repositories": [{"path": "data"}]}
    assert paths(ClusterConfig, node_groups=groups, lustre=lustre, vpc_cidr=7) == [
        "node_groups.gpu.efa",
        "node_groups.b.instance_type",
        "lustre.data_repositories[0].path",
        "vpc_cidr",
    ]


def test_a_section_does_not_change() -> None:
    section = ServiceAccountConfig(prefix="runs")
    with pytest.raises(ValidationError):
        section.prefix = "/"
