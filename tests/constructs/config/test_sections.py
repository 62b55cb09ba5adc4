from typing import Any

import pytest

from training_cluster import DataRepository, NodeRepair, NodeRepairOverride
from training_cluster.config import ClusterConfig, GpuNodeGroupConfig, JobIdentitySpec, JobQueueSpec, LustreConfig
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_workloads import InputError
from training_workloads.validation import dotted


def paths(section: Any, **values: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        section(**values)
    return [dotted(problem.path) for problem in error.value.problems]


def test_a_section_gives_the_keywords_of_the_construct() -> None:
    group = GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=4, availability_zone="us-east-1a")
    assert group.given(GpuNodeGroupSpec) == {"instance_type": "p4d.24xlarge", "max_size": 4}


def test_a_section_has_the_rules_of_its_construct() -> None:
    assert paths(GpuNodeGroupConfig, instance_type="p3dn.24xlarge", min_size=5, max_size=2) == ["min_size"]
    assert paths(LustreConfig, capacity_gib=1000) == ["capacity_gib"]
    assert paths(DataRepository, path="data") == ["path"]
    assert paths(JobQueueSpec, queue_name="My Queue", max_jobs=0) == ["queue_name", "max_jobs"]
    count = {"max_unhealthy_node_threshold_count": 2, "max_unhealthy_node_threshold_percentage": 20}
    assert paths(NodeRepair, **count) == ["max_unhealthy_node_threshold_count"]
    assert paths(NodeRepairOverride, condition="Ready", reason="Gone", action="Wait") == ["condition", "action"]
    assert paths(JobIdentitySpec, prefix="runs/*", namespace="My Jobs") == ["prefix", "namespace"]


@pytest.mark.parametrize(
    ("given", "section"),
    [
        (True, JobQueueSpec()),
        ({}, JobQueueSpec()),
        ({"queue_name": "research"}, JobQueueSpec(queue_name="research")),
        (False, None),
        (None, None),
    ],
)
def test_a_queue_can_have_its_defaults_by_true(given: Any, section: JobQueueSpec | None) -> None:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}}
    assert ClusterConfig.model_validate({"node_groups": groups, "job_queue": given}).job_queue == section


def test_a_mistake_in_the_queue_has_its_path() -> None:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}}
    assert paths(ClusterConfig, node_groups=groups, job_queue={"max_jobs": 0}) == ["job_queue.max_jobs"]
    assert paths(ClusterConfig, node_groups=groups, job_queue="yes") == ["job_queue"]


def test_the_whole_bucket_must_be_meant() -> None:
    assert paths(JobIdentitySpec, prefix="") == ["prefix"]
    assert JobIdentitySpec(prefix="/").prefix == "/"


def test_the_path_of_a_mistake_begins_at_the_outermost_section() -> None:
    groups = {"gpu": {"instance_type": "g5.xlarge", "efa": True}, "b": {"instance_type": 5}}
    lustre = {"data_repositories": [{"path": "data"}]}
    assert paths(ClusterConfig, node_groups=groups, lustre=lustre, vpc_cidr=7) == [
        "vpc_cidr",
        "node_groups.gpu.efa",
        "node_groups.b.instance_type",
        "lustre.data_repositories[0].path",
    ]


def test_a_section_does_not_change() -> None:
    section = JobIdentitySpec(prefix="runs")
    with pytest.raises(AttributeError, match="'prefix' of a JobIdentitySpec does not change"):
        section.prefix = "/"
