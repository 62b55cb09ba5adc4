from typing import Any

import cdk8s
import pytest

from training_workloads import ElasticHorovodJob, ElasticHorovodJobSpec, InputError, Scheduling


def spec(**changes: Any) -> ElasticHorovodJobSpec:
    defaults: dict[str, Any] = {
        "name": "job",
        "image": "image:1",
        "command": ("python", "-m", "train"),
        "instance_type": "p4d.24xlarge",
        "workers": 2,
    }
    return ElasticHorovodJobSpec(**{**defaults, **changes})


def manifest(job: ElasticHorovodJobSpec) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    ElasticHorovodJob(chart, "Job", spec=job)
    document, policy = cdk8s.Testing.synth(chart)
    assert policy["kind"] == "NetworkPolicy"
    return dict(document)


def test_the_launcher_starts_with_the_fewest_workers_and_discovers_others() -> None:
    made = manifest(spec(min_workers=1, workers=2, max_workers=4))
    launcher = made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    words = launcher["command"]
    assert words[:9] == [
        "python",
        "-m",
        "training.pods.launcher",
        "--timeout",
        "1800",
        "--workers",
        "1",
        "--restarts",
        "10",
    ]
    words = words[words.index("--") + 1 :]
    assert words[:9] == [
        *("horovodrun", "-np", "8", "--min-np", "8", "--max-np", "32"),
        *("--host-discovery-script", "python -m training.pods.reachable_hosts /etc/mpi/discover_hosts.sh"),
    ]
    assert words[-3:] == ["python", "-m", "train"]
    assert made["spec"]["launcherCreationPolicy"] == "AtStartup"
    assert made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    assert made["spec"]["slotsPerWorker"] == 8


def test_ranks_have_the_variables_of_several_workers_even_with_one() -> None:
    launcher = manifest(spec(workers=1))["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    names = {entry["name"] for entry in launcher["env"]}
    assert {"FI_PROVIDER", "NCCL_SOCKET_IFNAME"} <= names
    # The number of workers may change, and with it the number of ranks on a node.
    assert "HOROVOD_HIERARCHICAL_ALLREDUCE" not in names
    # With both, Horovod crashes when ranks come or go.
    assert names & {"HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME"} == {"HOROVOD_FUSION_THRESHOLD"}


def test_workers_on_spot_and_a_gang_of_the_fewest() -> None:
    made = manifest(spec(scheduling=Scheduling(capacity_type="SPOT", gang=True)))
    replicas = made["spec"]["mpiReplicaSpecs"]
    assert replicas["Worker"]["template"]["spec"]["nodeSelector"]["eks.amazonaws.com/capacityType"] == "SPOT"
    assert "nodeAffinity" in replicas["Launcher"]["template"]["spec"]["affinity"]
    assert made["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 2}


def test_the_largest_number_of_workers_is_the_first_one_by_default() -> None:
    assert spec(workers=3).largest == 3
    assert spec(workers=3, max_workers=5).largest == 5


def test_horovodrun_waits_for_lost_workers_as_long_as_the_launcher() -> None:
    made = manifest(spec(start_timeout_seconds=7200))
    words = made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert [words[words.index(name) + 1] for name in ("--timeout", "--elastic-timeout")] == ["7200", "7200"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"min_workers": 3},
            "'min_workers' is 3, but the job has 2 workers; lower the one or raise the other",
        ),
        (
            {"max_workers": 1},
            "'max_workers' is 1, but the job has 2 workers; raise the one or lower the other",
        ),
        ({"min_workers": 0}, "'min_workers' is 0; give 1 or more"),
        ({"max_workers": "4"}, "'max_workers' is '4'; give a whole number, 1 or more"),
        ({"workers": 0}, "'workers' is 0; give 1 or more"),
        (
            {"max_workers": 50_000_000},
            "'max_workers' is 50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in "
            "memory; give 5000 or less",
        ),
        (
            {"environment": {"HOROVOD_CYCLE_TIME": "5"}},
            "'environment.HOROVOD_CYCLE_TIME' is '5', but with it Horovod 0.28 crashes when workers come or go; omit "
            "it",
        ),
        ({"bind_to": "socket"}, "'bind_to' is 'socket', but horovodrun does not bind elastic ranks; omit it"),
        ({"image": ""}, "'image' is ''; give the image's address"),
        # Valid for two workers, but not for the hundredth.
        ({"name": "a" * 54, "max_workers": 100}, "use a name of 53 characters or fewer"),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(**change)
    assert message in str(caught.value)
