from docs.site.api_reference import directives, own_members, signature, without_summary
from training_cluster import TrainingBucket, TrainingCluster
from training_workloads import HorovodJob, HorovodJobSpec


def test_members_are_ours_and_not_the_cdks() -> None:
    members = own_members(TrainingCluster)
    assert {"add_gpu_node_group", "add_platform", "from_cluster_attributes"} <= set(members)
    # Of eks.Cluster.
    assert "add_helm_chart" not in members


def test_a_construct_shows_its_arguments() -> None:
    assert "autoclass:: training_cluster.TrainingBucket" in directives("training_cluster")
    found = signature(TrainingBucket)
    assert found
    assert list(found.parameters)[:2] == ["scope", "id"]


def test_a_job_shows_the_arguments_that_it_inherits_from_us() -> None:
    found = signature(HorovodJob)
    assert found
    assert {name: each.annotation for name, each in found.parameters.items()}["spec"] is HorovodJobSpec
    assert list(found.parameters) == ["scope", "id", "spec"]


def test_a_specs_arguments_need_no_help() -> None:
    assert signature(HorovodJobSpec) is None


def test_the_summary_of_a_constructor_is_omitted() -> None:
    def constructor() -> None:
        """Define the job.

        Args:
            spec: The job.
        """

    lines = ["A job.", "", "Define the job.", "", "Args:", "    spec: The job."]
    assert without_summary(lines, constructor) == ["A job.", "", "", "Args:", "    spec: The job."]


def test_a_name_is_in_one_reference_only() -> None:
    assert "ClusterConfig" in directives("training_cluster")
    assert ".ClusterConfig" not in directives("training_cluster.config")
    assert ".GpuNodeGroupConfig" in directives("training_cluster.config")
