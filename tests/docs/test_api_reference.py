import inspect

from docs.site.api_reference import directives, own_members
from training_cluster import TrainingBucket, TrainingCluster
from training_workloads import HorovodJob


def test_members_are_ours_and_not_the_cdks() -> None:
    members = own_members(TrainingCluster)
    assert {"add_gpu_node_group", "add_platform", "from_cluster_attributes"} <= set(members)
    # Of eks.Cluster.
    assert "add_helm_chart" not in members


def test_a_construct_shows_its_arguments() -> None:
    assert "autoclass:: training_cluster.TrainingBucket" in directives("training_cluster")
    assert list(inspect.signature(TrainingBucket).parameters)[:2] == ["scope", "id"]


def test_a_job_shows_the_arguments_that_it_inherits_from_us() -> None:
    directives("training_workloads")
    assert list(inspect.signature(HorovodJob).parameters) == ["scope", "id", "spec"]


def test_a_name_is_in_one_reference_only() -> None:
    assert "ClusterConfig" in directives("training_cluster")
    assert ".ClusterConfig" not in directives("training_cluster.config")
    assert ".GpuNodeGroupConfig" in directives("training_cluster.config")
